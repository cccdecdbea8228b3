import type { LiveSample } from "../observability/live/live-data.ts";
import { quantileOf, SECONDS_BOUNDS } from "../observability/metrics/histogram.ts";
import type { RequestMetrics } from "../observability/metrics/request-metrics.ts";
import type { InferenceService } from "../serving/inference-service.ts";

/** Milliseconds between samples, and how many make an hour. */
const [EVERY_MS, MAX_SAMPLES] = [5000, 720];

/** Sums since the start, of which differences are shown. */
interface Totals {
  readonly at: number;
  readonly requests: number;
  readonly failures: number;
  readonly times: readonly number[];
  readonly queued: number;
  readonly queueMs: number;
  readonly runs: number;
  readonly rows: number;
}

/** A server's last hour. */
export class LiveHistory {
  readonly #samples: LiveSample[] = [];
  #before: Totals | undefined;
  #metrics: RequestMetrics | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** The samples after a time, oldest first. */
  after(time: number): readonly LiveSample[] {
    return this.#samples.filter(({ at }) => at > time);
  }

  /** Takes the counts of requests from here. */
  count(metrics: RequestMetrics): void {
    this.#metrics = metrics;
  }

  /** Takes samples from now on, until {@link stop}. */
  start(service: Pick<InferenceService, "statistics" | "inFlight">): void {
    let isBusy = false;
    // A model that hangs must not gather questions; what it missed is in the next sample.
    const take = async () => {
      if (isBusy) return;
      isBusy = true;
      await this.sample(service).catch(() => {});
      isBusy = false;
    };
    void take();
    this.#timer = setInterval(() => void take(), EVERY_MS).unref();
  }

  /** Ends what {@link start} began. */
  stop(): void {
    clearInterval(this.#timer);
  }

  /** Takes one sample. */
  async sample(service: Pick<InferenceService, "statistics" | "inFlight">): Promise<void> {
    await this.#metrics?.gather();
    const statistics = await service.statistics();
    const now = this.#totals(statistics);
    const threads = statistics.reduce((sum, one) => sum + one.threads.hook.ready + one.threads.model.ready, 0);
    const before = this.#before;
    this.#before = now;
    if (before === undefined || now.at <= before.at) return;
    const inFlight = service.inFlight?.()?.count ?? 0;
    this.#samples.push({ ...difference(before, now), inFlight, threads, rssBytes: process.memoryUsage.rss() });
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
  }

  #totals(statistics: Awaited<ReturnType<InferenceService["statistics"]>>): Totals {
    const series = (this.#metrics?.series() ?? []).filter(({ model }) => model !== "");
    const counts = series.flatMap((one) => [...one.counts]);
    const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
    const runs = statistics.flatMap((one) => one.runs.runs);
    return {
      at: Date.now(),
      requests: sum(counts.map(([, count]) => count)),
      failures: sum(counts.flatMap(([status, count]) => (isFailure(status) ? [count] : []))),
      times: [...SECONDS_BOUNDS, 0].map((_, range) => sum(series.map(({ times }) => times.totalMs.counts[range] ?? 0))),
      queued: sum(statistics.map((one) => one.runs.requests)),
      queueMs: sum(statistics.map((one) => one.runs.queueMs)),
      runs: sum(runs.map(({ count }) => count)),
      rows: sum(runs.map(({ rows, count }) => rows * count)),
    };
  }
}

function isFailure(status: number | string): boolean {
  return typeof status === "number" ? status >= 400 : status !== "ok";
}

/** Counts go back if a model was unloaded. */
function difference(before: Totals, now: Totals): Omit<LiveSample, "inFlight" | "threads" | "rssBytes"> {
  const since = (read: (totals: Totals) => number) => Math.max(0, read(now) - read(before));
  const seconds = (now.at - before.at) / 1000;
  const times = now.times.map((count, range) => Math.max(0, count - (before.times[range] ?? 0)));
  const ms = (part: number) => {
    const found = quantileOf(times, SECONDS_BOUNDS, part);
    return found === undefined ? null : found * 1000;
  };
  const [queued, runs] = [since((totals) => totals.queued), since((totals) => totals.runs)];
  return {
    at: now.at,
    requests: since((totals) => totals.requests) / seconds,
    failures: since((totals) => totals.failures) / seconds,
    ...{ p50: ms(0.5), p95: ms(0.95), p99: ms(0.99) },
    queueMs: queued === 0 ? null : since((totals) => totals.queueMs) / queued,
    rows: runs === 0 ? null : since((totals) => totals.rows) / runs,
  };
}
