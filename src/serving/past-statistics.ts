import { type RunStatistics, sumStatistics } from "../model-host/queue/run-statistics.ts";
import { sumThreads } from "../observability/thread-states.ts";
import { type HookTimes, sumHookTimes } from "../pipeline/hook-times.ts";
import type { Servable, ServableStatistics } from "./servable.ts";

const NO_THREADS = { hook: sumThreads([]), model: sumThreads([]) };

/** Statistics of a servable that outlive its unloading. */
export class PastStatistics {
  #runs: RunStatistics = sumStatistics([]);
  #hooks: readonly HookTimes[] = [];

  /** Keeps what a servable has counted, which is about to be unloaded. */
  async keep(loaded: Servable): Promise<void> {
    const { runs, hooks } = await loaded.statistics();
    this.#hooks = sumHookTimes([...this.#hooks, ...hooks]);
    this.#runs = sumStatistics([this.#runs, runs]);
  }

  /** Statistics of everything kept, and of what is loaded now. */
  async sumWith(loaded: Servable | undefined): Promise<Pick<ServableStatistics, "runs" | "hooks" | "threads">> {
    const now = await loaded?.statistics();
    const runs = now === undefined ? this.#runs : sumStatistics([this.#runs, now.runs]);
    const hooks = sumHookTimes([...this.#hooks, ...(now?.hooks ?? [])]);
    return { runs, hooks, threads: now?.threads ?? NO_THREADS };
  }
}
