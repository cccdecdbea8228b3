import { Worker } from "node:worker_threads";
import { threadEntry } from "../../threads/thread-entry.ts";

/** Ticks per second at most: a thread that sends more than one request at a time still keeps its rate. */
const MAX_TICKS = 2000;

/** Calls back at a rate, exact to a tenth of a millisecond where a timer of Node is exact to one or two. */
export class Ticker {
  readonly #worker: Worker;

  constructor(perSecond: number, onTick: () => void) {
    const everyMs = 1000 / Math.min(perSecond, MAX_TICKS);
    this.#worker = new Worker(threadEntry("benchmark/load/ticker-thread-entry"), { workerData: { everyMs } });
    this.#worker.on("message", onTick);
  }

  stop(): void {
    void this.#worker.terminate();
  }
}
