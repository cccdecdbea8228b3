import { performance } from "node:perf_hooks";
import type { Loop, LoopParts } from "./loop.ts";

/** Milliseconds before a request follows one that failed: a server that refuses at once is not to be flooded. */
const PAUSE_MS = 10;

/** Keeps a number of requests open: each is followed by the next as soon as it is over. */
export class ClosedLoop implements Loop {
  readonly begun = Promise.resolve();
  readonly backlog = 0;
  readonly #parts: LoopParts;
  #isOver = false;

  constructor(parts: LoopParts) {
    this.#parts = parts;
    for (let slot = 0; slot < parts.job.concurrency; slot++) this.#next();
  }

  stop(): void {
    this.#isOver = true;
  }

  #next(): void {
    if (this.#isOver) return;
    const { sender, meter } = this.#parts;
    const started = performance.now();
    sender.send((problem) => {
      if (this.#isOver) return;
      meter.add(performance.now() - started, problem);
      if (problem === undefined) this.#next();
      else setTimeout(() => this.#next(), PAUSE_MS);
    });
  }
}
