import {
  METRICS,
  type MetricDescription,
  type MetricFamily,
  type MetricName,
  type Sample,
  toFamily,
  toSingle,
} from "../../observability/metrics/catalogue.ts";
import { type Exposition, expositionFor, PROMETHEUS_TEXT } from "../../observability/metrics/exposition.ts";
import { Histogram, type HistogramData, SECONDS_BOUNDS } from "../../observability/metrics/histogram.ts";
import { ProcessMetrics, residentMemory } from "../../observability/metrics/process-metrics.ts";
import { END_REASONS, endedRequests } from "../../platform/limits/ended-requests.ts";
import type { HttpAnswer, HttpDependencies, HttpRoute } from "../../proxy/http-route.ts";
import type { InferenceService, NamedStatistics, ServableState } from "../../serving/inference-service.ts";
import type { LoadCounts } from "../../serving/load-counter.ts";
import type { RecordedCount } from "../../serving/recorded-count.ts";
import { preparationTimes, STREAM_ENDS } from "../../serving/servable-statistics.ts";
import { readVersion } from "../../version.ts";
import type { Endpoint } from "../endpoint-paths.ts";
import type { Protocol } from "../protocol.ts";
import { tensorflowServingMetrics } from "./tensorflow-serving-metrics.ts";

/**
 * Metrics for Prometheus: `GET /metrics`, and under TensorFlow Serving's path and names. `?names=triton` adds Triton's,
 * for dashboards that are made for it.
 */
export const prometheus: Protocol = {
  name: "prometheus",
  http: (dependencies) => ({
    inference: [],
    routes: [metricsRoute(dependencies), tensorflowServingRoute(dependencies)].filter(
      // A path that was asked for counts before our own.
      ({ path }, index) => index > 0 || path !== dependencies.settings.tensorflowMetricsPath,
    ),
  }),
};

/** Its description for OpenAPI. */
export const METRICS_ENDPOINT: Endpoint = {
  method: "GET",
  path: "/metrics",
  summary: "Get the metrics, for Prometheus",
  contentType: "text/plain",
};

/** Facts about the process, which all servers in it share. */
const processMetrics = new ProcessMetrics();

function metricsRoute(dependencies: HttpDependencies): HttpRoute {
  const answer: HttpRoute["answer"] = async ({ request }) => {
    const form = expositionFor(request.headers.accept);
    const { searchParams } = new URL(request.url ?? "", "http://server");
    const isTriton = searchParams.getAll("names").includes("triton");
    const families = await Promise.all([
      serviceMetrics(dependencies),
      processMetrics.families(),
      isTriton ? tritonMetrics(dependencies.service) : [],
    ]);
    return toAnswer(form, families.flat());
  };
  return { method: "GET", path: "/metrics", kind: "metrics", answer };
}

function tensorflowServingRoute({ service, metrics, settings }: HttpDependencies): HttpRoute {
  const answer: HttpRoute["answer"] = async () => {
    await metrics.gather();
    const measured = { recorded: service.recorded?.() ?? [], statistics: await service.statistics() };
    return toAnswer(PROMETHEUS_TEXT, tensorflowServingMetrics({ ...measured, series: metrics.series() }));
  };
  return { method: "GET", path: literalPath(settings.tensorflowMetricsPath), kind: "metrics", answer };
}

/** A path in Express' form, in which some characters stand for others. */
function literalPath(path: string): string {
  return path.replaceAll(/[*:(){}[\]!?+\\]/g, "\\$&");
}

function toAnswer({ contentType, write }: Exposition, families: readonly MetricFamily[]): HttpAnswer {
  return { contentType, body: Buffer.from(write(families)) };
}

async function serviceMetrics({
  service,
  memory,
  metrics,
}: Pick<HttpDependencies, "service" | "memory" | "metrics">): Promise<readonly MetricFamily[]> {
  await metrics.gather();
  const states = service.index();
  const statistics = await service.statistics();
  metrics.forget(states);
  return [
    toFamily("kserving_build_info", [{ labels: [readVersion(), process.versions.node], value: 1 }]),
    ...metrics.families(),
    toFamily("kserving_requests_recorded_total", (service.recorded?.() ?? []).map(recordedSample)),
    ...poisonMetrics(service),
    ...inFlightMetrics(service),
    toSingle("kserving_held_bytes", memory.heldBytes),
    toSingle("kserving_held_bytes_limit", memory.maxBytes),
    toFamily(
      "kserving_requests_ended_total",
      END_REASONS.map((reason) => ({ labels: [reason], value: endedRequests.of(reason) })),
    ),
    ...stateMetrics(states),
    ...modelMetrics(statistics),
    toFamily("kserving_hook_seconds", statistics.flatMap(hookSamples)),
    ...threadMetrics(statistics),
    toFamily("kserving_model_process_resident_memory_bytes", await processSamples(statistics, "model")),
    toFamily("kserving_hook_process_resident_memory_bytes", await processSamples(statistics, "hook")),
    toFamily("kserving_model_loads_total", (service.loads?.() ?? []).flatMap(loadSamples)),
  ];
}

function poisonMetrics(service: InferenceService): readonly MetricFamily[] {
  const counts = service.poisonCounts?.() ?? [];
  const samples = (key: "quarantined" | "refused") =>
    counts.map((count) => ({ labels: [count.model], value: count[key] }));
  return [
    toFamily("kserving_poison_requests_total", samples("quarantined")),
    toFamily("kserving_poison_requests_refused_total", samples("refused")),
  ];
}

function inFlightMetrics(service: InferenceService): readonly MetricFamily[] {
  const inFlight = service.inFlight?.();
  if (inFlight === undefined) return [];
  return [
    toSingle("kserving_requests_in_flight", inFlight.count),
    toSingle("kserving_requests_in_flight_limit", inFlight.maxCount),
  ];
}

function stateMetrics(states: readonly ServableState[]): readonly MetricFamily[] {
  const labelsOf = ({ model, version }: ServableState) => [model, String(version)];
  return [
    toFamily(
      "kserving_model_state",
      states.map((state) => ({ labels: [...labelsOf(state), state.state], value: 1 })),
    ),
    toFamily(
      "kserving_model_ready",
      states.map((state) => ({ labels: labelsOf(state), value: state.isReady ? 1 : 0 })),
    ),
  ];
}

/** Reads what a version has counted; undefined = it has not. */
type VersionReader = (one: NamedStatistics) => Sample["value"] | undefined;

const OF_VERSIONS: readonly (readonly [MetricName, VersionReader])[] = [
  ["kserving_model_queue_seconds", ({ runs }) => runs.queueTimes],
  ["kserving_model_run_seconds", ({ runs }) => runs.runTimes],
  ["kserving_model_batch_rows", ({ runs }) => batchRows(runs.runs)],
  ["kserving_model_renewals_total", ({ runs }) => runs.renewals],
  ["kserving_model_last_request_timestamp_seconds", ({ requests }) => requests.lastRequest / 1000],
  ["kserving_model_load_seconds", ({ loadMs }) => loadMs / 1000],
  ["kserving_parts_total", ({ requests }) => requests.parts?.parts],
  ["kserving_time_to_first_part_seconds", ({ requests }) => requests.parts?.firstTimes],
  ["kserving_time_between_parts_seconds", ({ requests }) => requests.parts?.betweenTimes],
  ["kserving_streams_open", ({ requests }) => requests.parts?.open],
];

function modelMetrics(statistics: readonly NamedStatistics[]): readonly MetricFamily[] {
  const families = OF_VERSIONS.map(([name, read]) => toFamily(name, versionSamples(statistics, read)));
  const ends = STREAM_ENDS.flatMap((end) =>
    versionSamples(statistics, ({ requests }) => requests.parts?.ended[end]).map(({ labels, value }) => ({
      labels: [...labels, end],
      value,
    })),
  );
  return [...families, toFamily("kserving_streams_total", ends)];
}

function versionSamples(statistics: readonly NamedStatistics[], read: VersionReader): Sample[] {
  return statistics.flatMap((one) => {
    const value = read(one);
    return value === undefined ? [] : [{ labels: [one.model, String(one.version)], value }];
  });
}

function hookSamples({ model, version, hooks }: NamedStatistics): Sample[] {
  return hooks.map(({ hook, stage, times }) => ({
    labels: [model, String(version), hook, stage === 0 ? "" : String(stage)],
    value: times,
  }));
}

const KINDS = ["hook", "model"] as const;

function threadMetrics(statistics: readonly NamedStatistics[]): readonly MetricFamily[] {
  const counted = statistics.flatMap(({ model, version, threads }) =>
    KINDS.map((kind) => ({ labels: [model, String(version), kind], ...threads[kind] })),
  );
  const states = counted.flatMap(({ labels, ready, missing }) => [
    { labels: [...labels, "ready"], value: ready },
    { labels: [...labels, "missing"], value: missing },
  ]);
  const lost = counted.map(({ labels, lost: value }) => ({ labels, value }));
  return [toFamily("kserving_threads", states), toFamily("kserving_threads_lost_total", lost)];
}

async function processSamples(
  statistics: readonly NamedStatistics[],
  kind: keyof NamedStatistics["threads"],
): Promise<readonly Sample[]> {
  const samples = statistics.map(async ({ model, version, threads }) => {
    const sizes = await Promise.all((threads[kind].pids ?? []).map(residentMemory));
    const known = sizes.flatMap((bytes) => bytes ?? []);
    if (known.length === 0) return [];
    return [{ labels: [model, String(version)], value: known.reduce((sum, bytes) => sum + bytes, 0) }];
  });
  return (await Promise.all(samples)).flat();
}

function loadSamples({ model, version, succeeded, failed }: LoadCounts): Sample[] {
  const labels = [model, String(version)];
  return [
    { labels: [...labels, "success"], value: succeeded },
    { labels: [...labels, "failure"], value: failed },
  ];
}

function recordedSample({ model, outcome, count }: RecordedCount): Sample {
  return { labels: [model, outcome], value: count };
}

function batchRows(runs: NamedStatistics["runs"]["runs"]): HistogramData {
  const histogram = new Histogram(METRICS.kserving_model_batch_rows.bounds);
  for (const { rows, count } of runs) histogram.observe(rows, count);
  return histogram;
}

/**
 * Readers of Triton's counters, by their names without `nv_inference_`; times are in
 * microseconds, of all requests together.
 */
const COUNTERS: Readonly<Record<string, { readonly help: string; readonly read: (one: NamedStatistics) => number }>> = {
  request_success: {
    help: "Number of successful inference requests, all batch sizes",
    read: ({ requests }) => requests.succeeded.count,
  },
  request_failure: {
    help: "Number of failed inference requests, all batch sizes",
    read: ({ requests }) => requests.failed.count,
  },
  count: {
    help: "Number of inferences performed (does not include cached requests)",
    read: ({ runs }) => runs.runs.reduce((sum, { rows, count }) => sum + rows * count, 0),
  },
  exec_count: {
    help: "Number of model executions performed (does not include cached requests)",
    read: ({ runs }) => runs.runs.reduce((sum, { count }) => sum + count, 0),
  },
  request_duration_us: {
    help: "Cumulative inference request duration in microseconds (includes cached requests)",
    read: ({ requests }) => toMicros(requests.succeeded.ms),
  },
  queue_duration_us: {
    help: "Cumulative inference queuing duration in microseconds (includes cached requests)",
    read: ({ runs }) => toMicros(runs.queueMs),
  },
  compute_input_duration_us: {
    help: "Cumulative compute input duration in microseconds (does not include cached requests)",
    read: (one) => toMicros(preparationTimes(one).inputMs),
  },
  compute_infer_duration_us: {
    help: "Cumulative compute inference duration in microseconds (does not include cached requests)",
    read: ({ runs }) => toMicros(runs.runMs),
  },
  compute_output_duration_us: {
    help: "Cumulative inference compute output duration in microseconds (does not include cached requests)",
    read: (one) => toMicros(preparationTimes(one).outputMs),
  },
};

/** Triton's metrics of inference, as far as this server has them; times of first parts are in our ranges. */
async function tritonMetrics(service: InferenceService): Promise<readonly MetricFamily[]> {
  const statistics = await service.statistics();
  const toTriton = (name: string, description: Omit<MetricDescription, "labels">, read: VersionReader) => ({
    name: `nv_inference_${name}`,
    description: { ...description, labels: ["model", "version"] },
    samples: versionSamples(statistics, read),
  });
  const ofFirst = "Duration from request to first response in milliseconds";
  const bounds = SECONDS_BOUNDS.map((seconds) => seconds * 1000);
  return [
    ...Object.entries(COUNTERS).map(([name, { help, read }]) => toTriton(name, { type: "counter", help }, read)),
    toTriton("first_response_histogram_ms", { type: "histogram", help: ofFirst, bounds }, firstTimesMs),
  ];
}

function firstTimesMs({ requests: { parts } }: NamedStatistics): HistogramData | undefined {
  return parts && { counts: parts.firstTimes.counts, sum: parts.firstTimes.sum * 1000 };
}

function toMicros(ms: number): number {
  return Math.round(ms * 1000);
}
