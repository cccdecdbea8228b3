import { percentile } from "../../../observability/metrics/histogram.ts";
import type { LoadBatch } from "../load/load-job.ts";

/** Measurements of a stretch of time. */
export class Window {
  readonly #threads: number;
  readonly #batches: Float64Array[] = [];
  #threadSeconds = 0;
  #busySeconds = 0;
  requests = 0;
  #sumMs = 0;
  backlog = 0;
  readonly failures = new Map<string, number>();

  /** `threads` put the load on the server. */
  constructor(threads: number) {
    this.#threads = threads;
  }

  get seconds(): number {
    return this.#threadSeconds / this.#threads;
  }

  get requestsPerSecond(): number {
    return this.seconds === 0 ? 0 : this.requests / this.seconds;
  }

  get meanMs(): number {
    return this.requests === 0 ? Number.NaN : this.#sumMs / this.requests;
  }

  /** Share of the time in which the load's threads were busy, from 0 to 1. */
  get busyShare(): number {
    return this.#threadSeconds === 0 ? 0 : this.#busySeconds / this.#threadSeconds;
  }

  add({ seconds, latenciesMs, failures, busyShare, backlog }: LoadBatch): void {
    this.#threadSeconds += seconds;
    this.#busySeconds += busyShare * seconds;
    this.#batches.push(latenciesMs);
    this.requests += latenciesMs.length;
    for (const latencyMs of latenciesMs) this.#sumMs += latencyMs;
    for (const [problem, count] of Object.entries(failures)) this.#fail(problem, count);
    this.backlog = backlog;
  }

  /** Adds all of another window, which is later. */
  include(other: Window): void {
    this.#threadSeconds += other.#threadSeconds;
    this.#busySeconds += other.#busySeconds;
    this.#batches.push(...other.#batches);
    this.requests += other.requests;
    this.#sumMs += other.#sumMs;
    for (const [problem, count] of other.failures) this.#fail(problem, count);
    this.backlog = other.backlog;
  }

  /** The latencies, ascending, in milliseconds. */
  sorted(): Float64Array {
    const all = new Float64Array(this.requests);
    let at = 0;
    for (const batch of this.#batches) {
      all.set(batch, at);
      at += batch.length;
    }
    return all.sort();
  }

  /** A percentile of the latencies, in milliseconds. */
  percentileMs(share: number): number | undefined {
    return percentile(this.sorted(), share);
  }

  #fail(problem: string, count: number): void {
    this.failures.set(problem, (this.failures.get(problem) ?? 0) + count);
  }
}
