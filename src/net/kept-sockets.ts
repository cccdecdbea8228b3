import type { Server } from "node:net";

/** Sockets that go on listening when this process dies, in a process that waits for it. */
export interface SocketKeeper {
  /** Those that an earlier process has left, by the address that it was asked for. */
  readonly taken: { readonly title: string; readonly fd: number }[];
  /** Hands a socket that listens to the other process; resolves once that has it, or is gone. */
  keep(title: string, server: Server): Promise<void>;
}

let keeper: SocketKeeper | undefined;

/** Lets the sockets that are opened from now on outlive this process. */
export function keepSockets(by: SocketKeeper): void {
  keeper = by;
}

/** Checks if an earlier process has left a socket that listens there. */
export function isKept(title: string): boolean {
  return keeper?.taken.some((kept) => kept.title === title) ?? false;
}

/** The descriptor of a socket that an earlier process has left; undefined where there is none, or no more. */
export function takeKept(title: string): number | undefined {
  const index = keeper?.taken.findIndex((kept) => kept.title === title) ?? -1;
  return index < 0 ? undefined : keeper!.taken.splice(index, 1)[0]!.fd;
}

/** Has a new socket outlive this process, where another one waits for that; resolves once it does. */
export async function keepSocket(title: string, server: Server): Promise<void> {
  await keeper?.keep(title, server);
}
