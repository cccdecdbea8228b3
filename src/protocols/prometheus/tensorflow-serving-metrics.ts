import { STATUS } from "../../errors.ts";
import { type HistogramData, SECONDS_BOUNDS, sumHistograms } from "../../observability/metrics/histogram.ts";
import type { MetricFamily, Sample } from "../../observability/metrics/metric-family.ts";
import type { RouteSeries } from "../../observability/metrics/request-metrics.ts";
import type { RouteName } from "../../observability/route-name.ts";
import type { RecordedCount } from "../../serving/recorded-count.ts";

const MICROS = 1e6;
const REQUEST_COUNT = { type: "counter", help: "The number of requests.", labels: ["model_name", "status"] } as const;
const REQUEST_LATENCY = {
  type: "histogram",
  help: "Time of requests in microseconds, from the first byte until the answer was sent.",
  labels: ["model_name", "API", "entrypoint"],
  bounds: SECONDS_BOUNDS.map((seconds) => Math.round(seconds * MICROS)),
} as const;

const REQUEST_LOG_COUNT = {
  type: "counter",
  help: "The number of requests that were to be recorded.",
  labels: ["model_name", "status_code"],
} as const;

/** That server counts only these of gRPC's methods, and whatever comes over REST. */
const COUNTED = /^(?:\/tensorflow\.serving\.PredictionService\/(?:Predict|Classify|Regress)$|[A-Z]+ )/;
/** Predict, Classify and Regress over gRPC; the verb in the path over REST. */
const METHOD = /^\/tensorflow\.serving\.PredictionService\/(Predict|Classify|Regress)$|:(predict|classify|regress)$/;

/**
 * Metrics of TensorFlow Serving's protocol under that server's names, as far as they can be told: counts of its requests, and their times
 * in the ranges that this server counts by.
 */
export function tensorflowServingMetrics(
  all: readonly RouteSeries[],
  recorded: readonly RecordedCount[],
): readonly MetricFamily[] {
  const own = all.filter(({ route }) => route.protocol === "tensorflow-serving");
  const counted = own.filter(({ route }) => COUNTED.test(route.method));
  const timed = own.filter(({ route }) => METHOD.test(route.method));
  return [
    { name: ":tensorflow:serving:request_count", description: REQUEST_COUNT, samples: countSamples(counted) },
    { name: ":tensorflow:serving:request_latency", description: REQUEST_LATENCY, samples: latencySamples(timed) },
    {
      name: ":tensorflow:serving:request_log_count",
      description: REQUEST_LOG_COUNT,
      samples: recorded.map(({ model, outcome, count }) => ({ labels: [model, toCode(outcome)], value: count })),
    },
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
