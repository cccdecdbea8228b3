import type { MetricFamily } from "../../observability/metrics/metric-family.ts";
import type { InferenceService, NamedStatistics } from "../../serving/inference-service.ts";
import { preparationTimes } from "../../serving/preparation-times.ts";

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
export async function tritonMetrics(service: InferenceService): Promise<readonly MetricFamily[]> {
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
