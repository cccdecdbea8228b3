import { unlessAborted } from "../async/unless-aborted.ts";
import { failedPrecondition } from "../errors.ts";
import { AbandonedRuns } from "./abandoned-runs.ts";
import { RunLimit } from "./run-limit.ts";

/** A run in another thread. */
interface StartedRun<Result> {
  readonly result: Promise<Result>;
  /** Asks it to end early. */
  cancel(): void;
  /** Called when its caller has left; absent = it is cancelled. */
  abandon?(): void;
}

/** Limits of a model's runs. */
export interface RunLimits {
  /** Maximum number at once; the others wait. */
  readonly limit: number;
  /** Called when runs that no caller waits for do not end, and leave no room for others. */
  readonly onStuck: () => void;
  /** Called when one of them has ended after all. */
  readonly onFreed: () => void;
}

/**
 * Milliseconds that such runs may leave no room: longer than most operators take,
 * between which a run ends when it is asked to.
 */
const STUCK_MS = 1000;

/**
 * A model's runs in other threads. A caller that leaves is answered at once; its run
 * is cancelled, and keeps its place until it has ended.
 */
export class CancellableRuns {
  readonly #runs: RunLimit;
  readonly #abandoned: AbandonedRuns;
  readonly #running = new Set<StartedRun<unknown>>();
  /** Those whose callers wait. */
  readonly #answers = new Set<Promise<unknown>>();
  #closed = false;

  constructor({ limit, onStuck, onFreed }: RunLimits) {
    this.#runs = new RunLimit(limit);
    this.#abandoned = new AbandonedRuns({ limit, graceMs: STUCK_MS, onStuck, onFreed });
  }

  /** Starts a run when its turn has come; rejects with the signal's reason when that aborts first. */
  run<Result>(start: () => StartedRun<Result>, signal?: AbortSignal): Promise<Result> {
    if (this.#closed) return Promise.reject(failedPrecondition("The model is closed."));
    const run = this.#runs.run(() => this.#runNow(start, signal));
    const answer = signal === undefined ? run : unlessAborted(run, signal);
    this.#answers.add(answer);
    return answer.finally(() => this.#answers.delete(answer));
  }

  /** Asks all runs to end early. */
  cancelAll(): void {
    for (const run of this.#running) run.cancel();
  }

  /** Waits for the runs with waiting callers, and ends the others. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#answers);
    this.cancelAll();
    await this.#runs.idle();
  }

  async #runNow<Result>(start: () => StartedRun<Result>, signal?: AbortSignal): Promise<Result> {
    if (signal?.aborted) throw signal.reason;
    const run = start();
    this.#running.add(run);
    const abandon = () => {
      if (run.abandon === undefined) run.cancel();
      else run.abandon();
      this.#abandoned.add(run.result);
    };
    signal?.addEventListener("abort", abandon, { once: true });
    try {
      return await run.result;
    } finally {
      signal?.removeEventListener("abort", abandon);
      this.#running.delete(run);
    }
  }
}
