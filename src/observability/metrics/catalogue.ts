import { type HistogramData, SECONDS_BOUNDS } from "./histogram.ts";

/** Description of a metric, as Prometheus' conventions want it: base units, counters that end in `_total`. */
export interface MetricDescription {
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper ends of a histogram's ranges. */
  readonly bounds?: readonly number[];
}

const ROWS_BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const VERSION = ["model", "version"];
const ROUTE = [...VERSION, "protocol", "method"];
const SECONDS = { type: "histogram", bounds: SECONDS_BOUNDS } as const;

/**
 * Every metric of the server. `model` and `version` are those that answered, and empty if a request reached none:
 * what a client writes never becomes a label.
 */
export const METRICS = {
  kserving_build_info: {
    type: "gauge",
    help: "1, with the versions of the program and of Node.js.",
    labels: ["version", "node"],
  },
  kserving_requests_total: {
    type: "counter",
    help: "Requests that are over, by the status that they were answered with: HTTP's number, or gRPC's code.",
    labels: [...ROUTE, "status"],
  },
  kserving_request_duration_seconds: {
    ...SECONDS,
    help: "Time from a request's first byte until its answer was sent.",
    labels: ROUTE,
  },
  kserving_request_decode_seconds: {
    ...SECONDS,
    help: "Time from a request's last byte until models or hooks could begin.",
    labels: ROUTE,
  },
  kserving_request_inference_seconds: {
    ...SECONDS,
    help: "Time in models and hooks, and of waiting for them.",
    labels: ROUTE,
  },
  kserving_request_encode_seconds: {
    ...SECONDS,
    help: "Time from the outputs until the answer was written.",
    labels: ROUTE,
  },
  kserving_request_received_bytes_total: {
    type: "counter",
    help: "Bytes of requests as they came, without headers.",
    labels: ["protocol"],
  },
  kserving_request_sent_bytes_total: {
    type: "counter",
    help: "Bytes of answers, without headers.",
    labels: ["protocol"],
  },
  kserving_requests_recorded_total: {
    type: "counter",
    help: "Requests that were to be recorded (--request-log), by the outcome: ok, or the code of why they were not.",
    labels: ["model", "outcome"],
  },
  kserving_poison_requests_total: {
    type: "counter",
    help: "Requests that have ended the process or thread that ran them, and are not run again.",
    labels: ["model"],
  },
  kserving_poison_requests_refused_total: {
    type: "counter",
    help: "Requests that were refused for that: the same again, or others of a client that sent several.",
    labels: ["model"],
  },
  kserving_requests_in_flight: { type: "gauge", help: "Requests that were let in and are not over.", labels: [] },
  kserving_requests_in_flight_limit: {
    type: "gauge",
    help: "Requests under way at most (--max-queue).",
    labels: [],
  },
  kserving_held_bytes: {
    type: "gauge",
    help: "Bytes that the requests under way hold: bodies, tensors, decoded images, answers that are not sent yet.",
    labels: [],
  },
  kserving_requests_ended_total: {
    type: "counter",
    help: "Requests that were ended since their clients were too slow (--min-client-rate), held memory that others needed (--max-queue-bytes), or took an answer in parts slowly whose place others waited for.",
    labels: ["reason"],
  },
  kserving_held_bytes_limit: { type: "gauge", help: "Bytes that they may hold (--max-queue-bytes).", labels: [] },
  kserving_model_queue_seconds: {
    ...SECONDS,
    help: "Time that requests waited for a model's turn.",
    labels: VERSION,
  },
  kserving_model_run_seconds: { ...SECONDS, help: "Time of the runs of models, a batch being one.", labels: VERSION },
  kserving_model_batch_rows: {
    type: "histogram",
    help: "Rows of the runs of models; 1 where a model is not batched.",
    labels: VERSION,
    bounds: ROWS_BOUNDS,
  },
  kserving_hook_seconds: {
    ...SECONDS,
    help: "Time of each call of a hook (preprocess, postprocess, process), by its stage, the first being 1; process has none, and its time includes the models that it runs.",
    labels: [...VERSION, "hook", "stage"],
  },
  kserving_parts_total: { type: "counter", help: "Parts of answers in parts.", labels: VERSION },
  kserving_time_to_first_part_seconds: {
    ...SECONDS,
    help: "Time from the admission of a request until the first part of its answer.",
    labels: VERSION,
  },
  kserving_time_between_parts_seconds: {
    ...SECONDS,
    help: "Time from the moment that a client could take another part of an answer until that came.",
    labels: VERSION,
  },
  kserving_streams_open: { type: "gauge", help: "Answers in parts that are under way.", labels: VERSION },
  kserving_streams_total: {
    type: "counter",
    help: "Answers in parts that are over, by what ended them: server (it had no more parts), client (its connection ended), error, deadline.",
    labels: [...VERSION, "ended_by"],
  },
  kserving_model_state: {
    type: "gauge",
    help: "1 for the state that a version is in: START, LOADING, AVAILABLE, UNLOADING or END.",
    labels: [...VERSION, "state"],
  },
  kserving_model_ready: { type: "gauge", help: "1 where a version can answer now, else 0.", labels: VERSION },
  kserving_model_renewals_total: {
    type: "counter",
    help: "Times that models were made ready again, since a run that failed in the runtime might have spoiled them.",
    labels: VERSION,
  },
  kserving_model_last_request_timestamp_seconds: {
    type: "gauge",
    help: "Time at which a version's last request ended.",
    labels: VERSION,
  },
  kserving_threads: {
    type: "gauge",
    help: "Threads of a version by kind (hook, model) and state (ready, missing); small models that share one count one each.",
    labels: [...VERSION, "kind", "state"],
  },
  kserving_threads_lost_total: {
    type: "counter",
    help: "Threads that ended or got stuck, and were replaced; processes of isolated models count as threads, and processes of the server that died while the model ran.",
    labels: [...VERSION, "kind"],
  },
  kserving_model_process_resident_memory_bytes: {
    type: "gauge",
    help: "Memory of the processes of an isolated model (--isolate), or of one in Python, all copies together; on Linux alone.",
    labels: VERSION,
  },
  kserving_hook_process_resident_memory_bytes: {
    type: "gauge",
    help: "Memory of the processes of hooks in Python, all workers together; on Linux alone.",
    labels: VERSION,
  },
  kserving_model_loads_total: {
    type: "counter",
    help: "Loads of a version by result (success, failure), tries included.",
    labels: [...VERSION, "result"],
  },
  kserving_model_load_seconds: {
    type: "gauge",
    help: "Time that the last load of a version's models took.",
    labels: VERSION,
  },
  process_cpu_seconds_total: { type: "counter", help: "Processor time of the process, all threads.", labels: [] },
  kserving_process_restarts_total: {
    type: "counter",
    help: "Deaths of the server's process after which its supervisor has started it again.",
    labels: [],
  },
  process_start_time_seconds: { type: "gauge", help: "Start of the process, as Unix time.", labels: [] },
  process_resident_memory_bytes: { type: "gauge", help: "Memory of the process, all threads.", labels: [] },
  process_open_fds: { type: "gauge", help: "Open file descriptors; on Linux alone.", labels: [] },
  nodejs_heap_size_total_bytes: { type: "gauge", help: "Heap of the main thread.", labels: [] },
  nodejs_heap_size_used_bytes: { type: "gauge", help: "Heap of the main thread that is in use.", labels: [] },
  nodejs_external_memory_bytes: {
    type: "gauge",
    help: "Memory outside the heap that the main thread holds.",
    labels: [],
  },
  nodejs_eventloop_lag_mean_seconds: lag("the mean"),
  nodejs_eventloop_lag_p50_seconds: lag("the median"),
  nodejs_eventloop_lag_p99_seconds: lag("the 99th percentile"),
  nodejs_eventloop_lag_max_seconds: lag("the longest"),
  nodejs_gc_duration_seconds: {
    type: "histogram",
    help: "Time of the main thread's garbage collections since the first scrape.",
    labels: ["kind"],
    bounds: [0.001, 0.01, 0.1, 1, 2, 5],
  },
} as const satisfies Record<string, MetricDescription>;

function lag(which: string): MetricDescription & { readonly type: "gauge" } {
  return {
    type: "gauge",
    help: `Time for which the main thread's event loop was blocked, ${which} since the last scrape.`,
    labels: [],
  };
}

/** Name of a metric of the server. */
export type MetricName = keyof typeof METRICS;

/** Values of a metric's labels, in the order of its description. */
type LabelValues = readonly string[];

/** One time series as it stands. */
export interface Sample {
  readonly labels: LabelValues;
  readonly value: number | HistogramData;
}

/** A metric with all of its time series. */
export interface MetricFamily {
  readonly name: string;
  readonly description: MetricDescription;
  readonly samples: readonly Sample[];
}

/** A metric of the catalogue. */
export function toFamily(name: MetricName, samples: readonly Sample[]): MetricFamily {
  return { name, description: METRICS[name], samples };
}

/** A metric of the catalogue that has no labels. */
export function toSingle(name: MetricName, value: number | HistogramData): MetricFamily {
  return toFamily(name, [{ labels: [], value }]);
}
