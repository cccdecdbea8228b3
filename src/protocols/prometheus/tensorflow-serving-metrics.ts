import { STATUS } from "../../errors.ts";
import type { MetricDescription, MetricFamily, Sample } from "../../observability/metrics/catalogue.ts";
import { type HistogramData, SECONDS_BOUNDS, sumHistograms } from "../../observability/metrics/histogram.ts";
import { EXAMPLES_BOUNDS, type RouteSeries } from "../../observability/metrics/request-metrics.ts";
import type { RouteName } from "../../observability/request-record.ts";
import type { NamedStatistics } from "../../serving/inference-service.ts";
import type { RecordedCount } from "../../serving/recorded-count.ts";

/** Name of that server's only pool of threads for batches. */
const BATCH_THREADS = "batch_threads";
/** That server tells its runtimes TF1 and TFRT apart. */
const RUNTIME = "kserving";
/** That server counts only these of gRPC's methods, and whatever comes over REST. */
const COUNTED = /^(?:\/tensorflow\.serving\.PredictionService\/(?:Predict|Classify|Regress)$|[A-Z]+ )/;
/** Predict, Classify and Regress over gRPC; the verb in the path over REST. */
const METHOD = /^\/tensorflow\.serving\.PredictionService\/(Predict|Classify|Regress)$|:(predict|classify|regress)$/;

/** Facts that these metrics are made of. */
interface Measured {
  readonly series: readonly RouteSeries[];
  readonly recorded: readonly RecordedCount[];
  readonly statistics: readonly NamedStatistics[];
}

/** The metrics of {@link TENSORFLOW_METRICS}; those of requests are of TensorFlow Serving's protocol alone. */
export function tensorflowServingMetrics({ series, recorded, statistics }: Measured): readonly MetricFamily[] {
  const own = series.filter(({ route }) => route.protocol === "tensorflow-serving");
  const counted = own.filter(({ route }) => COUNTED.test(route.method));
  const timed = own.filter(({ route }) => METHOD.test(route.method));
  const examples = exampleSamples(own);
  const batched = statistics.filter(({ isBatched }) => isBatched);
  return [
    toFamily(":tensorflow:serving:request_count", countSamples(counted)),
    toFamily(":tensorflow:serving:request_latency", latencySamples(timed)),
    toFamily(":tensorflow:serving:runtime_latency", runtimeSamples(timed)),
    toFamily(":tensorflow:serving:request_example_counts", examples),
    toFamily(
      ":tensorflow:serving:request_example_count_total",
      examples.map(({ labels, value }) => ({ labels, value: value.sum })),
    ),
    toFamily(
      ":tensorflow:serving:request_log_count",
      recorded.map(({ model, outcome, count }) => ({ labels: [model, toCode(outcome)], value: count })),
    ),
    ...batchFamilies(batched),
  ];
}

function toFamily(name: keyof typeof TENSORFLOW_METRICS, samples: readonly Sample[]): MetricFamily {
  return { name, description: TENSORFLOW_METRICS[name], samples };
}

/** All batched models together, as there. */
function batchFamilies(batched: readonly NamedStatistics[]): readonly MetricFamily[] {
  const waited = toMicros(sumHistograms(batched.map(({ runs }) => runs.queueTimes)));
  const runs = batched.flatMap((one) => one.runs.runs).reduce((sum, { count }) => sum + count, 0);
  const isAny = batched.length > 0;
  return [
    toFamily(
      ":tensorflow:serving:batching_session:queuing_latency",
      isAny ? [{ labels: [BATCH_THREADS], value: waited }] : [],
    ),
    toFamily(":tensorflow:serving:batching_session:wrapped_run_count", isAny ? [{ labels: [], value: runs }] : []),
  ];
}

function countSamples(series: readonly RouteSeries[]): Sample[] {
  const counted = series.flatMap(({ model, counts }) =>
    [...counts].map(([status, count]) => ({ labels: [model, toCode(status)], count })),
  );
  return groupsOf(counted).map((group) => ({
    labels: group[0]!.labels,
    value: group.reduce((sum, { count }) => sum + count, 0),
  }));
}

/** Versions of a model together, as there. */
function latencySamples(series: readonly RouteSeries[]): Sample[] {
  const timed = series.map(({ model, route, times }) => ({ labels: [model, ...apiOf(route)], times: times.totalMs }));
  return groupsOf(timed).map((group) => ({
    labels: group[0]!.labels,
    value: toMicros(sumHistograms(group.map(({ times }) => times))),
  }));
}

/** Both transports together, as there. */
function runtimeSamples(series: readonly RouteSeries[]): Sample[] {
  const ran = series.filter(({ times }) => !times.inferenceMs.isEmpty);
  const timed = ran.map(({ model, route, times }) => ({
    labels: [model, capitalised(route)],
    times: times.inferenceMs,
  }));
  return groupsOf(timed).map((group) => ({
    labels: [...group[0]!.labels, RUNTIME],
    value: toMicros(sumHistograms(group.map(({ times }) => times))),
  }));
}

function exampleSamples(series: readonly RouteSeries[]) {
  const counted = series.filter(({ examples }) => !examples.isEmpty);
  const labelled = counted.map(({ model, examples }) => ({ labels: [model], examples }));
  return groupsOf(labelled).map((group) => ({
    labels: group[0]!.labels,
    value: sumHistograms(group.map(({ examples }) => examples)),
  }));
}

/** Predict, Classify or Regress. */
function capitalised(route: RouteName): string {
  const [api = ""] = apiOf(route);
  return api.charAt(0).toUpperCase() + api.slice(1);
}

/** API and entrypoint, as that server names them. */
function apiOf({ method }: RouteName): readonly string[] {
  const [, rpc, verb = ""] = METHOD.exec(method) ?? [];
  return rpc === undefined ? [verb, "REST"] : [rpc, "GRPC"];
}

/** gRPC's code in capitals. HTTP's status stands for the first code that has it. */
function toCode(status: number | string): string {
  if (typeof status === "string") return status.toUpperCase();
  if (status < 300) return "OK";
  const [code = "unknown"] = Object.entries(STATUS).find(([, { http }]) => http === status) ?? [];
  return code.toUpperCase();
}

function toMicros({ counts, sum }: HistogramData): HistogramData {
  return { counts, sum: sum * MICROS };
}

/** Groups of those that have the same labels. */
function groupsOf<One extends { readonly labels: readonly string[] }>(all: readonly One[]): One[][] {
  const groups = new Map<string, One[]>();
  for (const one of all) {
    const key = JSON.stringify(one.labels);
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()];
}

/** Microseconds of a second. */
const MICROS = 1e6;

const TIMES = { type: "histogram", bounds: SECONDS_BOUNDS.map((seconds) => Math.round(seconds * MICROS)) } as const;

/**
 * TensorFlow Serving's metrics that this server has, as far as they can be told: under
 * that server's names, with its labels and in its units.
 */
export const TENSORFLOW_METRICS = {
  ":tensorflow:serving:request_count": {
    type: "counter",
    help: "Requests of predict, classify and regress, and all over HTTP.",
    labels: ["model_name", "status"],
  },
  ":tensorflow:serving:request_latency": {
    ...TIMES,
    help: "Time of requests in microseconds, from the first byte until the answer was sent.",
    labels: ["model_name", "API", "entrypoint"],
  },
  ":tensorflow:serving:runtime_latency": {
    ...TIMES,
    help: "Time of requests in models and hooks in microseconds, with the time that they waited for them.",
    labels: ["model_name", "API", "runtime"],
  },
  ":tensorflow:serving:request_example_counts": {
    type: "histogram",
    help: "Examples of each request to classify and regress.",
    labels: ["model"],
    bounds: EXAMPLES_BOUNDS,
  },
  ":tensorflow:serving:request_example_count_total": {
    type: "counter",
    help: "Examples of all these requests.",
    labels: ["model"],
  },
  ":tensorflow:serving:request_log_count": {
    type: "counter",
    help: "Requests that were to be recorded (--request-log).",
    labels: ["model_name", "status_code"],
  },
  ":tensorflow:serving:batching_session:queuing_latency": {
    ...TIMES,
    help: "Time that requests to batched models waited for their turn, in microseconds, over all protocols.",
    labels: ["thread_pool_name"],
  },
  ":tensorflow:serving:batching_session:wrapped_run_count": {
    type: "counter",
    help: "Runs of batched models.",
    labels: [],
  },
} as const satisfies Readonly<Record<string, MetricDescription>>;
