import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Knows the connections and the requests under way, to close both in good order. */
export class OpenExchanges {
  readonly #sockets = new Set<Socket>();
  readonly #responses = new Set<ServerResponse>();
  readonly #goneListeners: (() => void)[] = [];
  #isDraining = false;

  /** Counts a new connection. */
  connect(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      if (this.#sockets.size === 0) for (const listener of this.#goneListeners.splice(0)) listener();
    });
  }

  /** Resolves once no connection is left. */
  async gone(): Promise<void> {
    if (this.#sockets.size === 0) return;
    await new Promise<void>((resolve) => this.#goneListeners.push(resolve));
  }

  /** Counts a request until it is answered or its client is gone. */
  add(response: ServerResponse): void {
    const { socket } = response;
    this.#responses.add(response);
    if (this.#isDraining) response.setHeader("connection", "close");
    response.on("close", () => {
      this.#responses.delete(response);
      // Where the head had been sent before, it could not say that the connection closes.
      if (this.#isDraining) socket?.end();
    });
  }

  /** Whether a request is under way on a connection. */
  isBusy(socket: Socket): boolean {
    for (const response of this.#responses) if (response.socket === socket) return true;
    return false;
  }

  /** Closes connections on which nothing is under way, the others after their answer. */
  drain(): void {
    this.#isDraining = true;
    const busy = new Set([...this.#responses].map(({ socket }) => socket));
    for (const response of this.#responses) {
      if (!response.headersSent) response.setHeader("connection", "close");
    }
    for (const socket of this.#sockets) if (!busy.has(socket)) socket.destroy();
  }

  /** Closes all connections at once. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
