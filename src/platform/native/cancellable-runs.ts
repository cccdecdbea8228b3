import { failedPrecondition } from "../../errors.ts";
import { unlessAborted } from "../async/cancel-source.ts";

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

/** Lets a number of tasks run at once; the others wait, in order. */
export class RunLimit {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  readonly #onIdle: (() => void)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs a task when its turn has come; rejects with the signal's reason if that aborts before. */
  async run<Result>(task: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    if (this.#running >= this.#limit) await this.#turn(signal);
    else this.#running++;
    try {
      return await task();
    } finally {
      this.#next();
    }
  }

  /** True while nothing runs and nothing waits. */
  get isIdle(): boolean {
    return this.#running === 0;
  }

  /** Resolves when nothing runs and nothing waits. */
  async idle(): Promise<void> {
    if (this.#running > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1);
        reject(signal?.reason);
      };
      this.#waiting.push(go);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  /** A turn passes straight to the next in line. */
  #next(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next();
      return;
    }
    this.#running--;
    if (this.#running > 0) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}

/** Number and time of abandoned runs from which on they count as stuck. */
interface AbandonedLimits {
  /** Maximum number of runs at once. */
  readonly limit: number;
  /** Milliseconds for which all of them may be abandoned ones. */
  readonly graceMs: number;
  readonly onStuck: () => void;
  /** Called when one of the stuck runs has ended after all. */
  readonly onFreed?: () => void;
}

/**
 * Runs that continue although no client waits for them, since their runtime cannot abort a run, or not immediately.
 * Reports when they leave no room for others.
 */
export class AbandonedRuns {
  readonly #limits: AbandonedLimits;
  #count = 0;
  #isStuck = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: AbandonedLimits) {
    this.#limits = limits;
  }

  /** Counts a run until it ends. */
  add(run: Promise<unknown>): void {
    const { limit, graceMs } = this.#limits;
    this.#count++;
    if (this.#count === limit) this.#timer = setTimeout(() => this.#report(), graceMs).unref();
    const end = () => this.#end();
    run.then(end, end);
  }

  #report(): void {
    this.#isStuck = true;
    this.#limits.onStuck();
  }

  #end(): void {
    this.#count--;
    clearTimeout(this.#timer);
    if (!this.#isStuck) return;
    this.#isStuck = false;
    this.#limits.onFreed?.();
  }
}
