import type { AddressInfo, Server } from "node:net";
import { failedPrecondition } from "../errors.ts";
import type { ConnectionLimit } from "../limits/connection-limit.ts";
import { toAuthority } from "./authority.ts";
import { cannotListen } from "./cannot-listen.ts";

/** Address to listen on, or a listening socket with which the program was started. */
export interface ListenPlace {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Descriptor of the socket, which replaces the address. */
  readonly fd?: number | undefined;
}

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
export function listen(
  server: Server,
  { host, port, fd }: ListenPlace,
  connections?: ConnectionLimit,
): Promise<Omit<ListenPlace, "fd">> {
  connections?.guard(server);
  const title = fd === undefined ? toAuthority(host, port) : `the socket with descriptor ${fd}`;
  return new Promise((resolve, reject) => {
    // This listener stays: an error of a later connection must not end the process.
    server.on("error", (cause) => reject(cannotListen(title, cause)));
    const address = arePortsShared ? { host, port, reusePort: true } : { host, port };
    server.listen(fd === undefined ? address : { fd }, () => {
      const bound = server.address() as AddressInfo | string;
      if (fd === undefined) return resolve({ host, port: (bound as AddressInfo).port });
      if (typeof bound === "object") return resolve({ host: bound.address, port: bound.port });
      server.close();
      reject(failedPrecondition(`${title} is the Unix socket ${bound}; expected one of TCP.`));
    });
  });
}
