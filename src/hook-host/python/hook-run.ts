import { createDeferred } from "../../async/promises.ts";
import { ServingError } from "../../errors.ts";

/** Limits on one call of a hook. */
export interface HookRunLimits {
  /** Milliseconds that the hook may take; 0 = no limit. */
  readonly timeoutMs: number;
  /** The hook, for messages. */
  readonly place: string;
  /** Called for a hook that computes when its time is over. */
  readonly onStuck: (reason: ServingError) => void;
}

/** One call of a hook that has begun in the Python process. */
export class HookRun {
  /** Rejects when the time of a hook that waits is over. */
  readonly late: Promise<never>;
  readonly #limits: HookRunLimits;
  readonly #late = createDeferred<never>();
  #timer: NodeJS.Timeout | undefined;
  #isComputing = true;

  constructor(limits: HookRunLimits) {
    this.#limits = limits;
    this.late = this.#late.promise;
    this.#startTimer();
  }

  /** True while the hook has the turn: it computes, and does not wait for the server. */
  get isComputing(): boolean {
    return this.#isComputing;
  }

  /** The hook waits for an answer of the server. */
  pause(): void {
    this.#isComputing = false;
  }

  /** The hook has its answer. */
  resume(): void {
    this.#isComputing = true;
  }

  /** The hook has returned. */
  end(): void {
    clearTimeout(this.#timer);
  }

  #startTimer(): void {
    const { timeoutMs } = this.#limits;
    if (timeoutMs > 0) this.#timer = setTimeout(() => this.#expire(), timeoutMs);
  }

  /**
   * A hook that computes is lost with its process; one that waits learns of it with its answer, and may end by itself.
   */
  #expire(): void {
    const { timeoutMs, place, onStuck } = this.#limits;
    const what = `The hook ${place} has not returned within ${timeoutMs} ms (--hook-timeout)`;
    if (this.#isComputing) {
      const advice = "its process is replaced. Is there an endless loop? If it needs longer, raise --hook-timeout.";
      onStuck(new ServingError("deadline_exceeded", `${what}; ${advice}`));
      return;
    }
    this.#late.reject(new ServingError("deadline_exceeded", `${what}; it waits for a model or for another server.`));
    this.#startTimer();
  }
}
