import { type RunStatistics, sumStatistics } from "../models/queue/run-statistics.ts";
import { sumThreads, type ThreadStates } from "../observability/thread-states.ts";
import { type HookTimes, sumHookTimes } from "../pipeline/hook-times.ts";

/** Statistics of requests as a whole, and in the models. */
export interface ServableStatistics {
  readonly requests: RequestStatistics;
  readonly runs: RunStatistics;
  /** True if runs of one of its models answer several requests. */
  readonly isBatched: boolean;
  /** Times of its hooks. */
  readonly hooks: readonly HookTimes[];
  readonly threads: ServableThreads;
  /** Milliseconds that the last load of its models took. */
  readonly loadMs: number;
}

/** Threads of one servable. */
interface ServableThreads {
  readonly hook: ThreadStates;
  /** A model that shares its thread counts the shared thread as its own. */
  readonly model: ThreadStates;
}

/** Times and counts of the requests of one servable; times in milliseconds, since it was loaded. */
export interface RequestStatistics {
  readonly succeeded: CountedTime;
  readonly failed: CountedTime;
  /** Time at which the last request ended, in milliseconds since the epoch; 0 = none did. */
  readonly lastRequest: number;
}

/** A number of requests, and their total time. */
interface CountedTime {
  readonly count: number;
  readonly ms: number;
}

/** Counts the requests of one servable. */
export class RequestCounter {
  readonly #succeeded = { count: 0, ms: 0 };
  readonly #failed = { count: 0, ms: 0 };
  #lastEnd = 0;

  /** End of the last request, on the clock of performance.now(); 0 = none has ended. */
  get lastEnd(): number {
    return this.#lastEnd;
  }

  /** Counts an ended request, which began at `started` on the clock of performance.now(). */
  add(started: number, isSuccess: boolean): void {
    const counted = isSuccess ? this.#succeeded : this.#failed;
    this.#lastEnd = performance.now();
    counted.count++;
    counted.ms += this.#lastEnd - started;
  }

  statistics(): RequestStatistics {
    const lastRequest = this.#lastEnd === 0 ? 0 : Date.now() - Math.round(performance.now() - this.#lastEnd);
    return { succeeded: { ...this.#succeeded }, failed: { ...this.#failed }, lastRequest };
  }
}

interface Counted {
  statistics(): Promise<ServableStatistics>;
}

/** Threads that were lost, of those that are gone. */
const lostOnly = ({ lost }: ThreadStates): ThreadStates => ({ ready: 0, missing: 0, lost });

/** Statistics of a servable that outlive its unloading. */
export class PastStatistics {
  #runs: RunStatistics = sumStatistics([]);
  #hooks: readonly HookTimes[] = [];
  /** Counters go on when threads end. */
  #threads = { hook: sumThreads([]), model: sumThreads([]) };

  /** Keeps what a servable has counted, which is about to be unloaded. */
  async keep(loaded: Counted): Promise<void> {
    const { runs, hooks, threads } = await loaded.statistics();
    this.#hooks = sumHookTimes([...this.#hooks, ...hooks]);
    this.#runs = sumStatistics([this.#runs, runs]);
    this.#threads = this.#threadsWith({ hook: lostOnly(threads.hook), model: lostOnly(threads.model) });
  }

  /** Statistics of everything kept, and of the servable that is loaded now. */
  async sumWith(loaded: Counted | undefined): Promise<Pick<ServableStatistics, "runs" | "hooks" | "threads">> {
    const now = await loaded?.statistics();
    const runs = now === undefined ? this.#runs : sumStatistics([this.#runs, now.runs]);
    const hooks = sumHookTimes([...this.#hooks, ...(now?.hooks ?? [])]);
    return { runs, hooks, threads: now === undefined ? this.#threads : this.#threadsWith(now.threads) };
  }

  #threadsWith({ hook, model }: ServableStatistics["threads"]): ServableStatistics["threads"] {
    return { hook: sumThreads([this.#threads.hook, hook]), model: sumThreads([this.#threads.model, model]) };
  }
}
