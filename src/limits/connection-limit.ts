import type { Server, Socket } from "node:net";
import { ThreadCounts } from "./thread-counts.ts";

/** Limits the connections of all ports of a server together. */
export class ConnectionLimit {
  readonly #max: number;
  readonly #onRefused: (open: number) => void;
  readonly #counts: ThreadCounts;

  /**
   * `max` 0 = no limit. `onRefused` is called for each refused connection, with the number of open ones. `counts`:
   * those of several threads together.
   */
  constructor(max: number, onRefused: (open: number) => void, counts = new ThreadCounts(ThreadCounts.memoryFor(1), 0)) {
    this.#max = max;
    this.#onRefused = onRefused;
    this.#counts = counts;
  }

  /**
   * Counts the connections of a server that listens; one beyond the limit is reset at
   * once, before anything is kept of it.
   */
  guard(server: Server): void {
    if (this.#max > 0) server.prependListener("connection", (socket: Socket) => this.#take(socket));
  }

  #take(socket: Socket): void {
    const { isIn, count } = this.#counts.enter(this.#max);
    if (!isIn) {
      socket.resetAndDestroy();
      this.#onRefused(count);
      return;
    }
    socket.once("close", () => this.#counts.leave());
  }
}
