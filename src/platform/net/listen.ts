import type { AddressInfo, Server } from "node:net";
import { failedPrecondition, reasonText, ServingError } from "../../errors.ts";
import type { ConnectionLimit } from "../limits/connection-limit.ts";

/** Address to listen on, or a listening socket with which the program was started. */
export interface ListenPlace {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Descriptor of the socket, which replaces the address. */
  readonly fd?: number | undefined;
  /** True if it listens for a moment only. */
  readonly isBrief?: boolean;
}

/** Limit of the connections of a port. */
export type PortLimit = Pick<ConnectionLimit, "guard"> & Partial<Pick<ConnectionLimit, "ofSidePort">>;

let arePortsShared = false;

/**
 * Lets other threads of this program listen on the ports that this thread opens, each for a part of the connections.
 */
export function sharePorts(): void {
  arePortsShared = true;
}

/**
 * Resolves with the bound address once a server listens, with its connections counted if they are limited. Throws
 * `unavailable` with the reason if it cannot listen, `failed_precondition` for a socket that is not of TCP.
 */
export async function listen(
  server: Server,
  { host, port, fd: given, isBrief = arePortsShared }: ListenPlace,
  connections?: PortLimit,
): Promise<Pick<ListenPlace, "host" | "port">> {
  connections?.guard(server);
  const place = toAuthority(host, port);
  const kept = given === undefined && !isBrief ? takeKept(place) : undefined;
  const fd = given ?? kept;
  const title = fd === undefined ? place : `the socket with descriptor ${fd}`;
  const bound = await new Promise<AddressInfo | string>((resolve, reject) => {
    // This listener stays: an error of a later connection must not end the process.
    server.on("error", (cause) => reject(cannotListen(title, cause)));
    const address = arePortsShared ? { host, port, reusePort: true } : { host, port };
    server.listen(fd === undefined ? address : { fd }, () => resolve(server.address() as AddressInfo | string));
  });
  if (fd === undefined && !isBrief) await keepSocket(place, server);
  if (typeof bound === "object") return { host: given === undefined ? host : bound.address, port: bound.port };
  server.close();
  throw failedPrecondition(`${title} is the Unix socket ${bound}; expected one of TCP.`);
}

/** Names of the flags that the user can change. */
interface ListenFlags {
  /** Such as `--http-port`. */
  readonly port: string;
  /** Such as `--host`. */
  readonly host: string;
}

/**
 * The error for an address (`host:port`) at which nothing can listen, with the remedy; with `flags`, the remedy names
 * the flag. Code `unavailable`.
 */
export function cannotListen(address: string, cause: Error, flags?: ListenFlags): ServingError {
  return new ServingError("unavailable", `Cannot listen on ${address}: ${whyNot(reasonText(cause), flags)}.`, {
    cause,
  });
}

/** Finds the system's code in the text, since grpc-js gives it only there. */
function whyNot(reason: string, flags: ListenFlags | undefined): string {
  const withFlag = flags === undefined ? "" : ` with ${flags.port}`;
  const [code] = /\bE[A-Z_]+\b/.exec(reason) ?? [];
  switch (code) {
    case "EADDRINUSE":
      return `the port is in use; choose another${withFlag}, or 0 for any free one`;
    case "EACCES":
      return `this user may not listen there; choose a port from 1024 on${withFlag}`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${flags?.host ?? "the host"} is not an address of this machine (${reason}); expected one, or 0.0.0.0 for all of them`;
    default:
      return reason;
  }
}

/** Sockets that go on listening when this process dies, in a process that waits for it. */
interface SocketKeeper {
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

/** The descriptor of a socket that an earlier process has left; undefined if there is none, or no more. */
export function takeKept(title: string): number | undefined {
  const index = keeper?.taken.findIndex((kept) => kept.title === title) ?? -1;
  return index < 0 ? undefined : keeper!.taken.splice(index, 1)[0]!.fd;
}

/** Has a new socket outlive this process, if another one waits for that; resolves once it does. */
export async function keepSocket(title: string, server: Server): Promise<void> {
  await keeper?.keep(title, server);
}

/** `host:port`, with an IPv6 address in brackets (RFC 3986 §3.2). */
export function toAuthority(host: string, port: number | string): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
