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
  clientKey: {
    type: "text",
    placeholder: "KEY",
    default: SERVER_DEFAULTS.clientKey,
    help: "how clients are told apart: address, user, header:NAME",
    details: "Of an IPv6 address the /64 counts. A call without user or header counts by its address.",
    commands: BOTH,
  },
  clientRate: {
    type: "count",
    min: 0,
    placeholder: "COUNT",
    default: SERVER_DEFAULTS.clientRate,
    help: "maximum requests per second of each client; 0 disables",
    details: "Probes of health do not count. Messages of a stream wait for their turn; other requests are refused.",
    commands: BOTH,
  },
  clientBurst: {
    type: "count",
    min: 1,
    placeholder: "COUNT",
    help: "requests that a client may send at once after a pause",
    details: "Left out, it is those of a second: the value of `--client-rate`.",
    commands: BOTH,
  },
  clientMaxInFlight: {
    type: "count",
    min: 0,
    placeholder: "COUNT",
    default: SERVER_DEFAULTS.clientMaxInFlight,
    help: "maximum requests of each client at a time; 0 disables",
    details: "A stream counts as one.",
    commands: BOTH,
  },
  trustedProxies: {
    type: "list",
    separator: ",",
    placeholder: "RANGE",
    help: "proxies whose X-Forwarded-For is believed; repeatable",
    details: "An address, a range such as 10.0.0.0/8, or `unix:` for those on the Unix socket.",
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
