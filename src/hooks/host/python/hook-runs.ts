import { ServingError } from "../../../errors.ts";
import { type CancelSignal, unlessAborted } from "../../../platform/async/cancel-source.ts";
import { createDeferred } from "../../../platform/async/promises.ts";

/** The hooks that run in one Python process, by the number of their request: one of them computes at a time. */
export class HookRuns {
  readonly #turns = new HookTurns();
  readonly #running = new Map<number, HookRun>();

  /**
   * Runs a hook when it is its turn; rejects with the signal's reason if that aborts before, and with
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

  /**
   * Runs a hook that shares a thread with others of its kind, the event loop's: it needs no turn. Rejects with the
   * signal's reason when that aborts; the hook goes on, as it does when its time is over.
   */
  async beside<T>(answer: Promise<T>, { onLate, ...limits }: BesideLimits, signal?: CancelSignal): Promise<T> {
    const late = createDeferred<never>();
    const expire = () => {
      const reason = new ServingError("deadline_exceeded", `${lateText(limits)}; does it await what never settles?`);
      late.reject(reason);
      onLate(reason);
    };
    const timer = limits.timeoutMs > 0 ? setTimeout(expire, limits.timeoutMs) : undefined;
    const settled = Promise.race([answer, late.promise]);
    try {
      return await (signal === undefined ? settled : unlessAborted(settled, signal));
    } finally {
      clearTimeout(timer);
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

/** Lets one hook compute at a time: the others wait, first come first served. */
class HookTurns {
  readonly #waiting: (() => void)[] = [];
  #isTaken = false;

  /** Resolves when it is the caller's turn; one whose signal has aborted by then is rejected with its reason. */
  async take(signal?: CancelSignal): Promise<void> {
    if (this.#isTaken) await new Promise<void>((go) => this.#waiting.push(go));
    this.#isTaken = true;
    if (!signal?.aborted) return;
    this.give();
    throw signal.reason;
  }

  /** Like {@link take}, before all others: for a hook that has begun. */
  async resume(): Promise<void> {
    if (this.#isTaken) await new Promise<void>((go) => this.#waiting.unshift(go));
    this.#isTaken = true;
  }

  /** Ends the turn. */
  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#isTaken = false;
    else next();
  }
}

/** The time of one call of a hook. */
interface HookLimits {
  /** Milliseconds that the hook may take; 0 = no limit. */
  readonly timeoutMs: number;
  /** The hook, for messages. */
  readonly place: string;
  /** The act that the hook has not done in time, for messages. Default `returned`. */
  readonly missing?: string;
}

function lateText({ timeoutMs, place, missing = "returned" }: HookLimits): string {
  return `The hook ${place} has not ${missing} within ${timeoutMs} ms (--hook-timeout)`;
}

/** Limits on one call of a hook in an event loop. */
interface BesideLimits extends HookLimits {
  /** Called when its time is over. */
  readonly onLate: (reason: ServingError) => void;
}

/** Limits on one call of a hook. */
interface HookRunLimits extends HookLimits {
  /** Called for a hook that computes when its time is over. */
  readonly onStuck: (reason: ServingError) => void;
}

/** One call of a hook that has begun in the Python process. */
class HookRun {
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
    const { onStuck } = this.#limits;
    const what = lateText(this.#limits);
    if (this.#isComputing) {
      const advice = "its process is replaced. Is there an endless loop? If it needs longer, raise --hook-timeout.";
      onStuck(new ServingError("deadline_exceeded", `${what}; ${advice}`));
      return;
    }
    this.#late.reject(new ServingError("deadline_exceeded", `${what}; it waits for a model or for another server.`));
    this.#startTimer();
  }
}
