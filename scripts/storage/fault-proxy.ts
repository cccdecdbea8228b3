import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A fault of a connection's large answer: cut in its middle, one other byte, a pause, or something else than HTTP. */
type Fault = "cut" | "corrupt" | "delay" | "garbage";

/** Bytes of an answer after which a fault happens: lists are smaller. */
const AFTER_BYTES = 1_000_000;
const DELAY_MS = 2000;

/** Passes connections on to another port of this machine, and makes one fault at a time. */
export class FaultProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #fault: Fault | undefined;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(target: number): Promise<FaultProxy> {
    const server = createServer((client) => proxy.#pass(client, target));
    const proxy = new FaultProxy(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** True while a fault has not happened yet. */
  get isPending(): boolean {
    return this.#fault !== undefined;
  }

  next(fault: Fault): void {
    this.#fault = fault;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #pass(client: Socket, port: number): void {
    const upstream = connect(port, "127.0.0.1");
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    let passed = 0;
    client.on("data", (request: Buffer) => {
      passed = 0;
      upstream.write(request);
    });
    upstream.on("data", (chunk: Buffer) => {
      passed += chunk.length;
      if (passed < AFTER_BYTES || this.#fault === undefined) client.write(chunk);
      else this.#happen(chunk, { client, upstream });
    });
  }

  #happen(chunk: Buffer, { client, upstream }: { readonly client: Socket; readonly upstream: Socket }): void {
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault === "cut") client.destroy();
    else if (fault === "garbage") client.end("HTTP/9 nonsense\r\n\r\n");
    else if (fault === "corrupt") {
      const other = Buffer.from(chunk);
      other[0] = (other[0] ?? 0) ^ 1;
      client.write(other);
    } else {
      upstream.pause();
      setTimeout(() => {
        client.write(chunk);
        upstream.resume();
      }, DELAY_MS);
    }
  }
}
