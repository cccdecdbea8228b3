import type { ServerOptions } from "../server-options.ts";

/** The first versions of Node that open one port several times, by their major version. */
const MINORS: Readonly<Record<number, number>> = { 22: 12, 23: 1 };

/** The reason why only the main thread can listen, whatever was asked for; undefined = more threads can. */
export function whyOneListener(
  { sockets, allowClientShm, grpcSocketOnly }: Pick<ServerOptions, "sockets" | "allowClientShm" | "grpcSocketOnly">,
  { version = process.versions.node, platform = process.platform as string } = {},
): string | undefined {
  if (platform !== "linux") return `${platform} does not spread connections among sockets of one port, as Linux does`;
  if (!opensPortsTwice(version)) return `Node ${version} cannot open one port several times, as 22.12 can`;
  if (sockets?.grpc !== undefined || sockets?.http !== undefined)
    return "a socket that the program was started with can be listened on by one thread";
  if (grpcSocketOnly === true) return "gRPC is served on a Unix socket alone, which one thread can listen on";
  if (allowClientShm) return "the memory that clients share (--allow-client-shm) is known to one thread";
  return undefined;
}

function opensPortsTwice(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 23 || minor >= (MINORS[major] ?? Number.POSITIVE_INFINITY);
}
