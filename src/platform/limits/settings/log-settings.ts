import { LOG_LEVELS } from "../../../observability/log-filter.ts";
import { BOTH, SERVE, type Setting } from "./setting.ts";

/** Defaults of request logs: one table for `createServer`, configuration files and the command line. */
export const REQUEST_LOG_DEFAULTS = {
  rate: 1,
  /** Small enough to be read and sent again in minutes. */
  maxBytes: 128 * 1024 * 1024,
  files: 8,
} as const;

/** Settings of the log. */
export const LOG_SETTINGS = {
  logLevel: {
    type: "choice",
    choices: LOG_LEVELS,
    placeholder: "LEVEL",
    default: "info",
    alsoEnv: "LOG_LEVEL",
    help: "lowest level",
    commands: BOTH,
  },
  logFormat: {
    type: "choice",
    choices: ["auto", "text", "json"],
    placeholder: "FORMAT",
    default: "auto",
    help: "format of the log",
    details: "`auto` is text at a terminal and JSON elsewhere.",
    commands: BOTH,
  },
  logPath: {
    type: "text",
    placeholder: "FILE",
    alsoEnv: "LOG_PATH",
    isPath: true,
    help: "file to append the log to, as JSON lines",
    details: "The log is also written to standard output.",
    commands: BOTH,
  },
  /** Logs a line for each request: model, version, status, sizes and times. Default false. */
  accessLog: {
    slice: "logging",
    type: "boolean",
    default: false,
    help: "log each request: model, status, sizes and times",
    details: "The lines have level info; without this flag they have level debug.",
    commands: BOTH,
  },
  /**
   * Sends clients the times of their requests: HTTP's header `Server-Timing`, gRPC's
   * trailer of that name. Default false.
   */
  serverTiming: {
    slice: "logging",
    type: "boolean",
    default: false,
    help: "tell clients where their requests' time went",
    details: "HTTP's header Server-Timing, and gRPC's trailer of that name; [tracing.md](tracing.md) has an example.",
    commands: BOTH,
  },
  requestLog: {
    type: "text",
    placeholder: "PREFIX",
    isPath: true,
    help: "record requests and answers in PREFIX-MODEL-TIME.tfrecord",
    details: "kserving replay sends them again, and a warm-up may run them: docs/replay.md.",
    commands: SERVE,
  },
  requestLogRate: {
    type: "share",
    placeholder: "RATE",
    default: REQUEST_LOG_DEFAULTS.rate,
    help: "share of the requests to record, from 0 to 1",
    commands: SERVE,
  },
  requestLogMaxSize: {
    type: "bytes",
    isMemory: true,
    placeholder: "SIZE",
    default: REQUEST_LOG_DEFAULTS.maxBytes,
    help: "maximum size of a file of recorded requests",
    commands: SERVE,
  },
  requestLogFiles: {
    type: "count",
    min: 1,
    placeholder: "COUNT",
    default: REQUEST_LOG_DEFAULTS.files,
    help: "number of such files to keep for each model",
    commands: SERVE,
  },
  keepFatalRequests: {
    type: "text",
    placeholder: "DIR",
    isPath: true,
    help: "folder that keeps the request which ends a model's process",
    details: "Each request is written there while it runs; kserving replay sends a kept one again: docs/replay.md.",
    commands: SERVE,
  },
} as const satisfies Record<string, Setting>;
