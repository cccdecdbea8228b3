import { performance } from "node:perf_hooks";
import { createDeferred } from "../../async/deferred.ts";
import type { Loop, LoopParts } from "./loop.ts";
import { Ticker } from "./ticker.ts";

/**
 * Begins requests at fixed times, whatever becomes of earlier ones. A request's latency counts from the time at which
 * it was due: a server that stops for a second delays all requests of that second, also those that could not be sent
 * meanwhile, and all of them are in the percentiles.
 */
export class OpenLoop implements Loop {
  readonly #parts: LoopParts;
  readonly #rate: number;
  readonly #ticker: Ticker;
  readonly #begun = createDeferred<void>();
  #started = 0;
  #due = 0;
  #sent = 0;
  #open = 0;
  #isOver = false;

  constructor(parts: LoopParts, rate: number) {
    this.#parts = parts;
    this.#rate = rate;
    this.#ticker = new Ticker(rate, () => this.#tick());
  }

  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  get backlog(): number {
    return this.#due - this.#sent;
  }

  stop(): void {
    this.#isOver = true;
    this.#ticker.stop();
  }

  #tick(): void {
    if (this.#started === 0) this.#started = performance.now();
    this.#begun.resolve();
    this.#due = Math.floor(((performance.now() - this.#started) / 1000) * this.#rate) + 1;
    this.#sendDue();
  }

  #sendDue(): void {
    while (this.#sent < this.#due && this.#open < this.#parts.job.concurrency && !this.#isOver) {
      this.#send(this.#started + (this.#sent / this.#rate) * 1000);
    }
  }

  #send(dueAt: number): void {
    this.#sent++;
    this.#open++;
    this.#parts.sender.send((problem) => {
      this.#open--;
      if (this.#isOver) return;
      this.#parts.meter.add(performance.now() - dueAt, problem);
      this.#sendDue();
    });
  }
}
