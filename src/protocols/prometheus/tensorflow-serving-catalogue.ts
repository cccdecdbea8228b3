import type { MetricDescription } from "../../observability/metrics/catalogue.ts";
import { SECONDS_BOUNDS } from "../../observability/metrics/histogram.ts";
import { EXAMPLES_BOUNDS } from "../../observability/metrics/request-metrics.ts";

/** Microseconds of a second. */
export const MICROS = 1e6;

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
