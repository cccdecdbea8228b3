import { type EventLoopUtilization, performance } from "node:perf_hooks";
import type { LoadBatch } from "./load-job.ts";

/** Collects the measurements of a thread into batches. */
export class LoadMeter {
  readonly #latencies: number[] = [];
  #failures: Record<string, number> = {};
  #since = performance.now();
  #utilization: EventLoopUtilization = performance.eventLoopUtilization();

  /** Counts a request that is over and took so long. */
  add(latencyMs: number, problem: string | undefined): void {
    if (problem === undefined) this.#latencies.push(latencyMs);
    else this.#failures[problem] = (this.#failures[problem] ?? 0) + 1;
  }

  /** The measurements since the last batch. */
  take(backlog: number): LoadBatch {
    const [now, utilization] = [performance.now(), performance.eventLoopUtilization()];
    const batch = {
      seconds: (now - this.#since) / 1000,
      latenciesMs: Float64Array.from(this.#latencies),
      failures: this.#failures,
      busyShare: performance.eventLoopUtilization(utilization, this.#utilization).utilization,
      backlog,
    };
    this.#latencies.length = 0;
    this.#failures = {};
    this.#since = now;
    this.#utilization = utilization;
    return batch;
  }
}
