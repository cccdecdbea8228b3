/**
 * The flags of a command in a document, for free ports of this machine; HTTP has one only where the command enables it,
 * since naming a port would.
 */
export function onFreePorts(flags: readonly string[]): string[] {
  const http = flags.includes("--http-enable") ? ["--http-port", "0"] : [];
  return [...flags, "--host", "127.0.0.1", "--port", "0", ...http];
}
