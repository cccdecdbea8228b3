import type { Server } from "node:net";
import type { ConnectionLimit } from "../limits/connection-limit.ts";
import { toAuthority } from "./authority.ts";
import { cannotListen } from "./cannot-listen.ts";

/** Resolves once a server listens, with its connections counted where they are limited; throws `unavailable` with the reason where it cannot. */
export function listen(server: Server, host: string, port: number, connections?: ConnectionLimit): Promise<void> {
  connections?.guard(server);
  return new Promise((resolve, reject) => {
    // This listener stays: an error of a later connection must not end the process.
    server.on("error", (cause) => reject(cannotListen(toAuthority(host, port), cause)));
    server.listen(port, host, () => resolve());
  });
}
