import type { Server, Socket } from "node:net";

/** Limits the connections of all ports of a server together. */
export class ConnectionLimit {
  readonly #max: number;
  readonly #onRefused: (open: number) => void;
  #open = 0;

  /** `max` 0 = no limit. `onRefused` is called for each refused connection, with the number of open ones. */
  constructor(max: number, onRefused: (open: number) => void) {
    this.#max = max;
    this.#onRefused = onRefused;
  }

  /** Counts the connections of a server that listens; one beyond the limit is reset at once, before anything is kept of it. */
  guard(server: Server): void {
    if (this.#max > 0) server.prependListener("connection", (socket: Socket) => this.#take(socket));
  }

  #take(socket: Socket): void {
    if (this.#open >= this.#max) {
      socket.resetAndDestroy();
      this.#onRefused(this.#open);
      return;
    }
    this.#open++;
    socket.once("close", () => {
      this.#open--;
    });
  }
}
