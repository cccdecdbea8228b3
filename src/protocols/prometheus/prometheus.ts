import { type Exposition, expositionFor, PROMETHEUS_TEXT } from "../../observability/metrics/exposition.ts";
import type { MetricFamily } from "../../observability/metrics/metric-family.ts";
import { ProcessMetrics } from "../../observability/metrics/process-metrics.ts";
import type { HttpAnswer, HttpDependencies, HttpRoute } from "../../proxy/http-route.ts";
import type { Protocol } from "../protocol.ts";
import { serviceMetrics } from "./service-metrics.ts";
import { tensorflowServingMetrics } from "./tensorflow-serving-metrics.ts";
import { tritonMetrics } from "./triton-metrics.ts";

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
