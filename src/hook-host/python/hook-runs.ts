import type { CancelSignal } from "../../async/cancel-source.ts";
import { HookRun, type HookRunLimits } from "./hook-run.ts";
import { HookTurns } from "./hook-turns.ts";

/** The hooks that run in one Python process, by the number of their request: one of them computes at a time. */
export class HookRuns {
  readonly #turns = new HookTurns();
  readonly #running = new Map<number, HookRun>();

  /**
   * Runs a hook when it is its turn; rejects with the signal's reason where that aborts before, and with
   * `deadline_exceeded` when its time is over.
   */
  async run<T>(
    ask: () => { number: number; answer: Promise<T> },
    limits: HookRunLimits,
    signal?: CancelSignal,
  ): Promise<T> {
    await this.#turns.take(signal);
    const { number, answer } = this.#begin(ask);
    const run = new HookRun(limits);
    this.#running.set(number, run);
    const answered = answer.finally(() => {
      run.end();
      this.#running.delete(number);
      if (run.isComputing) this.#turns.give();
    });
    return Promise.race([answered, run.late]);
  }

  /** The question that begins a hook; one that cannot be asked ends its turn. */
  #begin<T>(ask: () => T): T {
    try {
      return ask();
    } catch (reason) {
      this.#turns.give();
      throw reason;
    }
  }

  /** Does what a hook waits for; other hooks may run meanwhile. */
  async wait<T>(number: number, work: () => Promise<T>): Promise<T> {
    const run = this.#running.get(number);
    if (run === undefined) return work();
    run.pause();
    this.#turns.give();
    try {
      return await Promise.race([work(), run.late]);
    } finally {
      await this.#turns.resume();
      run.resume();
    }
  }
}
