/** A server of a cloud's interface, of another project. */
export interface RealServer {
  readonly port: number;
  readonly version: string;
  /** Variables with which a program reads it, through a port on this machine. */
  env(port: number): Readonly<Record<string, string>>;
  /** The address of its bucket, through a port on this machine. */
  bucket(port: number): string;
  put(key: string, content: Uint8Array): Promise<void>;
  stop(): Promise<void>;
}
