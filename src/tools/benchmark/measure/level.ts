import type { LoadJob } from "../load/load-job.ts";

/** One step of a sweep: how much load. */
export type Level = Pick<LoadJob, "concurrency" | "rate">;

/** Latencies of a level, in milliseconds. */
export interface Latencies {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** Figures of one window. */
export interface WindowFigures {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Measurements of one level: those of its last three windows. */
export interface LevelResult extends Level {
  readonly requests: number;
  readonly seconds: number;
  readonly requestsPerSecond: number;
  /** Absent if no request was answered. */
  readonly latencyMs?: Latencies;
  /** Latencies in milliseconds at shares from 0.5 to 0.9999 that the number of requests allows. */
  readonly distribution: readonly (readonly [share: number, ms: number])[];
  /** Requests that failed in any of its windows, by what was wrong. */
  readonly failures: Readonly<Record<string, number>>;
  /** Of every window, the last three among them. */
  readonly windows: readonly WindowFigures[];
  /** True if the last three windows agree. */
  readonly isStable: boolean;
  /** Share of the time in which the load's threads were busy, from 0 to 1. */
  readonly clientShare: number;
  /** Requests of an open load that were due and not sent at the end. */
  readonly backlog: number;
}

/** Share from which the load's own threads delay requests. */
const BUSY = 0.85;

/** Checks if a level measured the client rather than the server. */
export function isClientBound({ clientShare }: LevelResult): boolean {
  return clientShare >= BUSY;
}

/** Failed requests of a level. */
export function failureCount({ failures }: LevelResult): number {
  return Object.values(failures).reduce((sum, count) => sum + count, 0);
}

/** Checks if a level ended because nothing came back, neither answers nor failures. */
export function isSilent(result: LevelResult): boolean {
  return result.windows.at(-1)?.requestsPerSecond === 0 && failureCount(result) === 0;
}
