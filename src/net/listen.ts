import type { AddressInfo, Server } from "node:net";
import { failedPrecondition } from "../errors.ts";
import type { ConnectionLimit } from "../limits/connection-limit.ts";
import { toAuthority } from "./authority.ts";
import { cannotListen } from "./cannot-listen.ts";
import { keepSocket, takeKept } from "./kept-sockets.ts";

/** Address to listen on, or a listening socket with which the program was started. */
export interface ListenPlace {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Descriptor of the socket, which replaces the address. */
  readonly fd?: number | undefined;
  /** True where it listens for a moment only. */
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
 * Resolves with the bound address once a server listens, with its connections counted where they are limited. Throws
 * `unavailable` with the reason where it cannot listen, `failed_precondition` for a socket that is not of TCP.
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
