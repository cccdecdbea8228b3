/** Names of Node, which modules that the page shares with the server look for, and do without in browsers. */
declare const Buffer: {
  from(bytes: Uint8Array): Uint8Array;
  allocUnsafe(bytes: number): NodeBuffer;
  allocUnsafeSlow(bytes: number): NodeBuffer;
};
declare const process: { getBuiltinModule(name: "node:fs"): { readdirSync(path: string): string[] } };

interface NodeBuffer extends Uint8Array {
  write(text: string, at: number): number;
}
