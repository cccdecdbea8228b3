import type { MetricFamily } from "../../observability/metrics/catalogue.ts";
import { type Exposition, expositionFor, PROMETHEUS_TEXT } from "../../observability/metrics/exposition.ts";
import { ProcessMetrics } from "../../observability/metrics/process-metrics.ts";
import type { HttpAnswer, HttpDependencies, HttpRoute } from "../../proxy/http-route.ts";
import type { InferenceService, NamedStatistics } from "../../serving/inference-service.ts";
import { preparationTimes } from "../../serving/preparation-times.ts";
import type { Protocol } from "../protocol.ts";
import { serviceMetrics } from "./service-metrics.ts";
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

/** Triton's metrics of inference, as far as this server has them. */
async function tritonMetrics(service: InferenceService): Promise<readonly MetricFamily[]> {
  const statistics = await service.statistics();
  return Object.entries(COUNTERS).map(([name, { help, read }]) => ({
    name: `nv_inference_${name}`,
    description: { type: "counter", help, labels: ["model", "version"] },
    samples: statistics.map((one) => ({ labels: [one.model, String(one.version)], value: read(one) })),
  }));
}

function toMicros(ms: number): number {
  return Math.round(ms * 1000);
}
