import { type RunStatistics, sumStatistics } from "../models/queue/run-statistics.ts";
import { sumThreads, type ThreadStates } from "../observability/thread-states.ts";
import { type HookTimes, sumHookTimes } from "../pipeline/hook-times.ts";
import type { Servable, ServableStatistics } from "./servable.ts";

/** Threads that were lost, of those that are gone. */
const lostOnly = ({ lost }: ThreadStates): ThreadStates => ({ ready: 0, missing: 0, lost });

/** Statistics of a servable that outlive its unloading. */
export class PastStatistics {
  #runs: RunStatistics = sumStatistics([]);
  #hooks: readonly HookTimes[] = [];
  /** Counters go on when threads end. */
  #threads = { hook: sumThreads([]), model: sumThreads([]) };

  /** Keeps what a servable has counted, which is about to be unloaded. */
  async keep(loaded: Servable): Promise<void> {
    const { runs, hooks, threads } = await loaded.statistics();
    this.#hooks = sumHookTimes([...this.#hooks, ...hooks]);
    this.#runs = sumStatistics([this.#runs, runs]);
    this.#threads = this.#threadsWith({ hook: lostOnly(threads.hook), model: lostOnly(threads.model) });
  }

  /** Statistics of everything kept, and of the servable that is loaded now. */
  async sumWith(loaded: Servable | undefined): Promise<Pick<ServableStatistics, "runs" | "hooks" | "threads">> {
    const now = await loaded?.statistics();
    const runs = now === undefined ? this.#runs : sumStatistics([this.#runs, now.runs]);
    const hooks = sumHookTimes([...this.#hooks, ...(now?.hooks ?? [])]);
    return { runs, hooks, threads: now === undefined ? this.#threads : this.#threadsWith(now.threads) };
  }

  #threadsWith({ hook, model }: ServableStatistics["threads"]): ServableStatistics["threads"] {
    return { hook: sumThreads([this.#threads.hook, hook]), model: sumThreads([this.#threads.model, model]) };
  }
}
