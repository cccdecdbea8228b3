import { type AddressInfo, createServer } from "node:net";

/** A server that no client has a reason to connect to. */
export interface Canary {
  /** `http://host:port/canary`. */
  readonly url: string;
  readonly authority: string;
  /** Ends it; returns how many connections there were. */
  close(): number;
}

/** Listens, and counts the connections. */
export async function watchCanary(): Promise<Canary> {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on("error", () => {}).destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const authority = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.close();
    return connections;
  };
  return { url: `http://${authority}/canary`, authority, close };
}
