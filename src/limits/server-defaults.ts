const MAX_MESSAGE_BYTES = 256 * 1024 * 1024;

/** Defaults of a server: one table for `createServer` and for the command line. */
export const SERVER_DEFAULTS = {
  name: "default",
  tensorContent: false,
  requireModelSpec: false,
  checkMethodNames: false,
  ignoreUnknownOutputs: false,
  allowClientShm: false,
  /** TensorFlow Serving's. */
  tensorflowMetricsPath: "/monitoring/prometheus/metrics",
  simpleTensorflowServing: false,
  kserveRoutes: false,
  openvinoMetadata: false,
  ui: true,
  allowControl: "off",
  accessLog: false,
  /** Far below what a process may have open, and some hundreds of megabytes if all are idle. */
  maxConnections: 16_384,
  listeners: 1,
  clientKey: "address",
  clientRate: 0,
  clientMaxInFlight: 0,
  serverTiming: false,
  tracing: false,
  /** Room for a batch of large images, far below what would hurt a machine. */
  maxMessageBytes: MAX_MESSAGE_BYTES,
  workers: 1,
  instances: 1,
  isolate: false,
  hookTimeoutMs: 60_000,
  hookStallMs: 10_000,
  hookMemoryMb: 2048,
  inspectHooks: false,
  modelStallMs: 60_000,
  savedModelWarmup: 1,
  versionBatching: false,
  shareThreads: true,
  /** Above the time in which a large model is compiled for its device. */
  loadTimeoutMs: 600_000,
  /** TensorFlow Serving's default. */
  loadRetries: 5,
  /** TensorFlow Serving's default. */
  loadRetryMs: 60_000,
  loadThreads: 4,
  idleUnloadMs: 0,
  modelMemoryBytes: 0,
  memoryCheck: true,
  /** Some models of a usual size, on a disk of a usual one. */
  archiveHooks: "own",
  modelCacheBytes: 20 * 1024 ** 3,
  /** Storage providers charge for each list. */
  storagePollMs: 30_000,
  failFast: false,
  strictReadiness: false,
  allowLabelsForUnavailable: false,
  maxQueue: 1024,
  poisonRequests: 64,
  /** Room for one more message of the maximum size. */
  maxQueueBytes: 2 * MAX_MESSAGE_BYTES,
  requestTimeoutMs: 0,
  sendTimeoutMs: 60_000,
  /** Far below any network that a client would use, in bytes per second. */
  minClientRate: 1024,
  /** With the delay before it, below the 30 s after which container platforms kill a process. */
  drainTimeoutMs: 20_000,
} as const;

/** Defaults of request logs: one table for `createServer`, configuration files and the command line. */
export const REQUEST_LOG_DEFAULTS = {
  rate: 1,
  /** Small enough to be read and sent again in minutes. */
  maxBytes: 128 * 1024 * 1024,
  files: 8,
} as const;
