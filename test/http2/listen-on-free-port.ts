import type { AddressInfo, Server } from "node:net";

/** Lets a server listen on a free port of this machine, which it returns. */
export function listenOnFreePort(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}
