import { setTimeout as wait } from "node:timers/promises";
import { MAX_TIMER_MS } from "../../platform/limits/call-limits.ts";

/** Times at which requests are sent: as recorded, as fast as possible, or a number per second. */
export type ReplayRate = "recorded" | "max" | number;

/** Decides when requests are sent, and limits the number of open ones. */
export class Pace {
  readonly #rate: ReplayRate;
  readonly #concurrency: number;
  readonly #signal: AbortSignal | undefined;
  readonly #underWay = new Set<Promise<void>>();
  #started = 0;
  #firstTimeMs: number | undefined;
  #sent = 0;

  /** No wait outlives the signal. */
  constructor(rate: ReplayRate, concurrency: number, signal?: AbortSignal) {
    this.#rate = rate;
    this.#concurrency = concurrency;
    this.#signal = signal;
  }

  /**
   * Waits until the request recorded at that time is due; undefined = the time is unknown, and it is due immediately.
   */
  async next(timeMs: number | undefined): Promise<void> {
    if (this.#sent++ === 0) this.#started = performance.now();
    await this.#until(this.#started + this.#dueAfter(timeMs));
    while (this.#underWay.size >= this.#concurrency) await Promise.race(this.#underWay);
  }

  async #until(due: number): Promise<void> {
    for (let leftMs = due - performance.now(); leftMs > 0; leftMs = due - performance.now()) {
      if (this.#signal?.aborted) return;
      await wait(Math.min(leftMs, MAX_TIMER_MS), undefined, { signal: this.#signal }).catch(() => {});
    }
  }

  /** Begins a request, which never rejects. */
  run(request: () => Promise<void>): void {
    const running: Promise<void> = request().finally(() => this.#underWay.delete(running));
    this.#underWay.add(running);
  }

  /** Waits for all open requests. */
  async finished(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** Milliseconds from the first request on. */
  #dueAfter(timeMs: number | undefined): number {
    if (typeof this.#rate === "number") return ((this.#sent - 1) / this.#rate) * 1000;
    if (this.#rate === "max" || timeMs === undefined) return 0;
    this.#firstTimeMs ??= timeMs;
    return timeMs - this.#firstTimeMs;
  }
}
