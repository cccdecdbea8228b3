import { EventEmitter, on } from "node:events";
import { Worker } from "node:worker_threads";
import { percentile } from "../../../observability/metrics/histogram.ts";
import { threadEntry } from "../../../platform/threads/thread-entry.ts";
import type { LoadBatch, LoadJob, LoadTarget } from "../load/load-job.ts";
import type { Latencies, Level, LevelResult, WindowFigures } from "./level.ts";
import { Window } from "./window.ts";

/** Measures the levels of a sweep one after the other; those so far once the signal aborts. */
export async function runBench(
  target: LoadTarget,
  levels: readonly Level[],
  measuring: Measuring,
): Promise<readonly LevelResult[]> {
  const results: LevelResult[] = [];
  for (const level of levels) {
    if (measuring.signal.aborted) break;
    const result = await measureLevel(target, level, measuring);
    if (result.windows.length > 0) results.push(result);
  }
  return results;
}

/** Length and exactness of a measurement. */
interface Measuring {
  /** Threads that put the load on the server. */
  readonly threads: number;
  /** Time before the first window. */
  readonly warmUpSeconds: number;
  /** Least length of a window. */
  readonly windowSeconds: number;
  /** Windows at most, if no three in a row agree. */
  readonly maxWindows: number;
  /** Aborts the measurement, whose result has what was measured until then. */
  readonly signal: AbortSignal;
  /** Notified ten times a second, in the warm-up too, in which `windows` has none. */
  readonly onProgress?: (level: Level, windows: readonly Window[]) => void;
}

/** Requests that a window has at least, however long they take … */
const MIN_REQUESTS = 50;
/** … but it is no longer than so many times its length: a server may have gone silent. */
const MAX_STRETCH = 5;

/** Measures one level: a warm-up, then windows until the last three agree. */
export async function measureLevel(target: LoadTarget, level: Level, measuring: Measuring): Promise<LevelResult> {
  const { warmUpSeconds, maxWindows, signal, onProgress = () => {} } = measuring;
  const threads = Math.min(measuring.threads, level.concurrency);
  const warmUp = new Window(threads);
  const windows: Window[] = [];
  for await (const batch of loadBatches({ ...level, target }, threads, signal)) {
    const isWarm = warmUp.seconds >= warmUpSeconds;
    const last = windows.at(-1);
    if (!isWarm) warmUp.add(batch);
    else if (last !== undefined && !isFull(last, measuring)) last.add(batch);
    // If all requests fail, or none is answered, more of them say nothing.
    else if (windows.length === maxWindows || isStable(windows) || last?.requests === 0) break;
    else windows.push(begin(threads, batch));
    onProgress(level, windows);
  }
  // A window that was cut short says little, unless it is all there is.
  const whole = windows.filter((window) => isFull(window, measuring));
  return toLevelResult(level, whole.length > 0 ? whole : windows, threads);
}

function begin(threads: number, batch: Parameters<Window["add"]>[0]): Window {
  const window = new Window(threads);
  window.add(batch);
  return window;
}

function isFull({ seconds, requests, failures }: Window, { windowSeconds }: Measuring): boolean {
  const isLong = seconds >= MAX_STRETCH * windowSeconds;
  return isLong || (seconds >= windowSeconds && (requests >= MIN_REQUESTS || failures.size > 0));
}

/** Shares of the distribution. */
const SHARES = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995, 0.9999];

/** The result of a level's windows. */
function toLevelResult(level: Level, windows: readonly Window[], threads: number): LevelResult {
  const last = new Window(threads);
  for (const window of windows.slice(-STABLE_WINDOWS)) last.include(window);
  const sorted = last.sorted();
  return {
    ...level,
    requests: last.requests,
    seconds: last.seconds,
    requestsPerSecond: last.requestsPerSecond,
    ...(sorted.length > 0 && { latencyMs: latenciesOf(sorted, last.meanMs) }),
    distribution: SHARES.filter((share) => sorted.length * (1 - share) >= 1).map((share) => [share, at(sorted, share)]),
    failures: failuresOf(windows),
    windows: windows.map(toFigures),
    isStable: isStable(windows),
    clientShare: last.busyShare,
    backlog: last.backlog,
  };
}

function latenciesOf(sorted: Float64Array, mean: number): Latencies {
  const [p50, p90, p95, p99, max] = [0.5, 0.9, 0.95, 0.99, 1].map((share) => at(sorted, share));
  return { mean, p50, p90, p95, p99, max } as Latencies;
}

function toFigures(window: Window): WindowFigures {
  const sorted = window.sorted();
  return { requestsPerSecond: window.requestsPerSecond, p50Ms: at(sorted, 0.5), p99Ms: at(sorted, 0.99) };
}

function failuresOf(windows: readonly Window[]): Record<string, number> {
  const all = new Map<string, number>();
  for (const { failures } of windows)
    for (const [problem, count] of failures) all.set(problem, (all.get(problem) ?? 0) + count);
  return Object.fromEntries(all);
}

function at(sorted: Float64Array, share: number): number {
  return percentile(sorted, share) ?? Number.NaN;
}

/** Windows that have to agree. */
const STABLE_WINDOWS = 3;
/** By how much each may differ from their mean, as a share of it. */
const TOLERANCE = 0.1;

/**
 * Checks if the requests per second and the mean latency of the last three windows are within 10 % of their means, as
 * Triton's perf_analyzer does.
 */
export function isStable(windows: readonly Window[]): boolean {
  const last = windows.slice(-STABLE_WINDOWS);
  if (last.length < STABLE_WINDOWS) return false;
  return agree(last.map(({ requestsPerSecond }) => requestsPerSecond)) && agree(last.map(({ meanMs }) => meanMs));
}

function agree(values: readonly number[]): boolean {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.every((value) => Math.abs(value - mean) <= TOLERANCE * mean);
}

/**
 * Puts a load on a server from its own threads, and yields what they measure until
 * the caller stops or the signal aborts.
 */
export async function* loadBatches(
  job: LoadJob,
  threads: number,
  signal: AbortSignal,
): AsyncGenerator<LoadBatch, void, void> {
  const batches = new EventEmitter();
  const workers = shares(job, threads).map((workerData) => startThread(workerData, batches));
  try {
    for await (const [batch] of on(batches, "batch", { signal })) yield batch;
  } catch (reason) {
    if (!signal.aborted) throw reason;
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

function startThread(job: LoadJob, batches: EventEmitter): Worker {
  const worker = new Worker(threadEntry("tools/benchmark/load/load-thread-entry"), { workerData: job });
  worker.on("message", (batch: LoadBatch) => batches.emit("batch", batch));
  worker.on("error", (reason) => batches.emit("error", reason));
  return worker;
}

/** Equal parts of a load, no more than there are requests at a time. */
function shares(job: LoadJob, threads: number): LoadJob[] {
  const count = Math.min(threads, job.concurrency);
  return Array.from({ length: count }, (_, index) => ({
    ...job,
    concurrency: Math.floor(job.concurrency / count) + (index < job.concurrency % count ? 1 : 0),
    ...(job.rate !== undefined && { rate: job.rate / count }),
  }));
}
