import { Histogram, type HistogramData, SECONDS_BOUNDS, sumHistograms } from "../../observability/metrics/histogram.ts";

/**
 * Times and counts of a model's runs, as plain data that crosses threads; times in milliseconds, since it was loaded.
 */
export interface RunStatistics {
  /** Requests that were run. */
  readonly requests: number;
  /** Time that all of them together waited for their turn. */
  readonly queueMs: number;
  /** Time that they ran, all together: a run of several requests counts for each of them. */
  readonly runMs: number;
  /** Runs of the model, by how many rows they had; 1 if the model is not batched. */
  readonly runs: readonly RunsOfSize[];
  /** Number of times that the model was made ready again after runs that failed. */
  readonly renewals: number;
  /** Times that requests waited, in seconds. */
  readonly queueTimes: HistogramData;
  /** Times of the runs, in seconds. */
  readonly runTimes: HistogramData;
}

/** All runs with one number of rows. */
interface RunsOfSize {
  readonly rows: number;
  readonly count: number;
  readonly ms: number;
}

/** One run of a model. */
export interface CountedRun {
  /** Requests that it answered, or a part of one. */
  readonly requests: number;
  /** Rows of these requests. */
  readonly rows: number;
  readonly ms: number;
}

/** Counts a model's runs. */
export class RunCounter {
  #requests = 0;
  #queueMs = 0;
  #runMs = 0;
  readonly #runs = new Map<number, { count: number; ms: number }>();
  readonly #queueTimes = new Histogram(SECONDS_BOUNDS);
  readonly #runTimes = new Histogram(SECONDS_BOUNDS);

  /** Counts a request that is to be run, and how long it waited. */
  addRequest(queueMs: number): void {
    this.#requests++;
    this.#queueMs += queueMs;
    this.#queueTimes.observe(queueMs / 1000);
  }

  /** Counts one run of several requests. */
  addRun({ requests, rows, ms }: CountedRun): void {
    this.#runMs += requests * ms;
    this.#runTimes.observe(ms / 1000);
    const runs = this.#runs.get(rows);
    if (runs === undefined) {
      this.#runs.set(rows, { count: 1, ms });
      return;
    }
    runs.count++;
    runs.ms += ms;
  }

  statistics(): RunStatistics {
    const runs = [...this.#runs].map(([rows, { count, ms }]) => ({ rows, count, ms }));
    return {
      requests: this.#requests,
      queueMs: this.#queueMs,
      runMs: this.#runMs,
      runs,
      renewals: 0,
      queueTimes: copyOf(this.#queueTimes),
      runTimes: copyOf(this.#runTimes),
    };
  }
}

/** The statistics of several copies, or several stages, together. */
export function sumStatistics(parts: readonly RunStatistics[]): RunStatistics {
  const runs = new Map<number, RunsOfSize>();
  for (const { rows, count, ms } of parts.flatMap((part) => part.runs)) {
    const known = runs.get(rows) ?? { rows, count: 0, ms: 0 };
    runs.set(rows, { rows, count: known.count + count, ms: known.ms + ms });
  }
  return {
    requests: sum(parts.map(({ requests }) => requests)),
    queueMs: sum(parts.map(({ queueMs }) => queueMs)),
    runMs: sum(parts.map(({ runMs }) => runMs)),
    runs: [...runs.values()].toSorted((a, b) => a.rows - b.rows),
    renewals: sum(parts.map(({ renewals }) => renewals)),
    queueTimes: sumHistograms(parts.map(({ queueTimes }) => queueTimes)),
    runTimes: sumHistograms(parts.map(({ runTimes }) => runTimes)),
  };
}

function copyOf({ counts, sum }: HistogramData): HistogramData {
  return { counts: [...counts], sum };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Checks that a value is a model's statistics; another process may have sent it. */
export function isRunStatistics(value: unknown): value is RunStatistics {
  const { requests, queueMs, runMs, renewals, runs, queueTimes, runTimes } = (value ?? {}) as {
    readonly [Name in keyof RunStatistics]?: unknown;
  };
  const areCounts = Array.isArray(runs) && runs.every((run) => areAmounts(run?.rows, run?.count, run?.ms));
  return (
    areAmounts(requests, queueMs, runMs, renewals) && areCounts && isHistogram(queueTimes) && isHistogram(runTimes)
  );
}

function isHistogram(value: unknown): boolean {
  const { counts, sum } = (value ?? {}) as { readonly counts?: unknown; readonly sum?: unknown };
  return Array.isArray(counts) && counts.length <= SECONDS_BOUNDS.length + 1 && areAmounts(sum, ...counts);
}

function areAmounts(...values: readonly unknown[]): boolean {
  return values.every((value) => Number.isFinite(value) && (value as number) >= 0);
}
