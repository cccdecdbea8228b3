import { SERVER_DEFAULTS } from "../../limits/server-defaults.ts";
import { BOTH, SERVE, type Setting } from "./setting.ts";

/** Settings that limit requests: their number, size and time. */
export const LIMIT_SETTINGS = {
  maxQueue: {
    type: "count",
    min: 1,
    placeholder: "COUNT",
    default: SERVER_DEFAULTS.maxQueue,
    help: "maximum number of requests at a time",
    details: "Waiting requests count too. Further ones are refused at once.",
    commands: SERVE,
  },
  maxQueueBytes: {
    type: "bytes",
    placeholder: "SIZE",
    default: SERVER_DEFAULTS.maxQueueBytes,
    help: "maximum memory of all requests together",
    details:
      "Bodies count as they arrive and as they are inflated, then inputs, outputs, and answers until they are sent. Further requests are refused at once, but a single request is always accepted.",
    commands: SERVE,
  },
  maxMessageBytes: {
    type: "bytes",
    placeholder: "SIZE",
    default: SERVER_DEFAULTS.maxMessageBytes,
    help: "maximum size of a message or body, such as 64MB",
    commands: BOTH,
  },
  requestTimeout: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.requestTimeoutMs / 1000,
    help: "maximum time of a request; 0 disables",
    details: "A client may set an earlier deadline.",
    commands: SERVE,
  },
  sendTimeout: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.sendTimeoutMs / 1000,
    help: "cut clients that read nothing for so long; 0 disables",
    commands: BOTH,
  },
  shutdownDelay: {
    type: "seconds",
    placeholder: "SECONDS",
    default: 5,
    help: "time to answer on after SIGTERM, while not ready; 0 disables",
    details:
      "Load balancers need it to see that the server is not ready. Ctrl-C (SIGINT) has no delay ([Stopping](operations.md#stopping)).",
    commands: BOTH,
  },
  drainTimeout: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.drainTimeoutMs / 1000,
    help: "maximum time to finish requests once new ones are refused",
    commands: BOTH,
  },
} as const satisfies Record<string, Setting>;
