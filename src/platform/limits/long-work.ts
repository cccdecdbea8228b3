import { setImmediate } from "node:timers/promises";
import type { CancelSignal } from "../async/cancel-source.ts";

/** Milliseconds of work in one turn of the event loop. */
const TURN_MS = 10;

/** Work that takes long, such as reading a large text, and lets others have turns of the event loop meanwhile. */
export class LongWork {
  readonly #signal: CancelSignal | undefined;
  #began = performance.now();

  /** `signal` ends the work. */
  constructor(signal?: CancelSignal) {
    this.#signal = signal;
  }

  /** Checks if the work has had its time of this turn. */
  isOver(): boolean {
    return performance.now() - this.#began > TURN_MS;
  }

  /** Waits for the next turn; throws the signal's reason. */
  async next(): Promise<void> {
    await setImmediate();
    this.#signal?.throwIfAborted();
    this.#began = performance.now();
  }

  /** Does steps, which are short, one after the other, and waits for the next turn where this one is over. */
  async do(steps: Iterable<unknown>): Promise<void> {
    for (const _ of steps) if (this.isOver()) await this.next();
  }
}
