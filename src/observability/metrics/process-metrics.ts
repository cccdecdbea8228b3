import { readdir, readFile } from "node:fs/promises";
import {
  constants,
  type IntervalHistogram,
  monitorEventLoopDelay,
  type PerformanceEntry,
  PerformanceObserver,
} from "node:perf_hooks";
import { METRICS, type MetricFamily, toFamily, toSingle } from "./catalogue.ts";
import { Histogram } from "./histogram.ts";

/** Milliseconds between two checks of the event loop. */
const LOOP_RESOLUTION_MS = 20;

const GC_KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: "minor",
  [constants.NODE_PERFORMANCE_GC_MAJOR]: "major",
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: "incremental",
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: "weakcb",
};

/** Node's entry of a garbage collection, whose details its types leave out. */
type CollectionEntry = PerformanceEntry & { readonly detail: { readonly kind: number } };

let restarts = 0;

/** Tells how often the process has died and was started again. */
export function setProcessRestarts(count: number): void {
  restarts = count;
}

/** Facts about the process and its main thread. Costly measurements begin with the first request for metrics. */
export class ProcessMetrics {
  readonly #collections = new Map(
    Object.values(GC_KINDS).map((kind) => [kind, new Histogram(METRICS.nodejs_gc_duration_seconds.bounds)]),
  );
  #loop: IntervalHistogram | undefined;
  #observer: PerformanceObserver | undefined;

  /** All metrics of the process. */
  async families(): Promise<readonly MetricFamily[]> {
    this.#observeCollections();
    const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    const openFiles = await countOpenFiles();
    return [
      toSingle("process_cpu_seconds_total", (user + system) / 1e6),
      toSingle("kserving_process_restarts_total", restarts),
      toSingle("process_start_time_seconds", performance.timeOrigin / 1000),
      toSingle("process_resident_memory_bytes", rss),
      ...(openFiles === undefined ? [] : [toSingle("process_open_fds", openFiles)]),
      toSingle("nodejs_heap_size_total_bytes", heapTotal),
      toSingle("nodejs_heap_size_used_bytes", heapUsed),
      toSingle("nodejs_external_memory_bytes", external),
      ...this.#loopFamilies(),
      this.#collectionFamily(),
    ];
  }

  #loopFamilies(): readonly MetricFamily[] {
    const isFirst = this.#loop === undefined;
    this.#loop ??= monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
    const loop = this.#loop;
    loop.enable();
    const [p50, p99] = [loop.percentile(50), loop.percentile(99)];
    const delays = { mean: loop.mean, p50, p99, max: loop.max } as const;
    loop.reset();
    return (Object.keys(delays) as (keyof typeof delays)[]).map((which) =>
      toSingle(`nodejs_eventloop_lag_${which}_seconds`, isFirst ? 0 : toLagSeconds(delays[which])),
    );
  }

  #observeCollections(): void {
    if (this.#observer !== undefined) return;
    this.#observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as CollectionEntry[]) {
        const kind = GC_KINDS[entry.detail.kind] ?? "";
        this.#collections.get(kind)?.observe(entry.duration / 1000);
      }
    });
    this.#observer.observe({ entryTypes: ["gc"] });
  }

  #collectionFamily(): MetricFamily {
    const samples = [...this.#collections].map(([kind, value]) => ({ labels: [kind], value }));
    return toFamily("nodejs_gc_duration_seconds", samples);
  }
}

/** The timer's own interval is not a delay. */
function toLagSeconds(ns: number): number {
  return Number.isNaN(ns) ? 0 : Math.max(0, ns / 1e9 - LOOP_RESOLUTION_MS / 1000);
}

/** Known on Linux only; undefined elsewhere. */
async function countOpenFiles(): Promise<number | undefined> {
  const entries = await readdir("/proc/self/fd").catch(() => undefined);
  return entries?.length;
}

/** Resident memory of a process, in bytes; undefined for one that has ended, and everywhere but on Linux. */
export async function residentMemory(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}
