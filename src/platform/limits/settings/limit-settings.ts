import { BOTH, SERVE, type Setting } from "./setting.ts";

/** Settings that limit requests: their number, size and time. */
export const LIMIT_SETTINGS = {
  /** Requests under way at most, waiting or running; more are refused with `unavailable`. Default 1024. */
  maxQueue: {
    slice: "limits",
    type: "count",
    min: 1,
    placeholder: "COUNT",
    default: 1024,
    help: "maximum number of requests at a time",
    details: "Waiting requests count too. Further ones are refused at once.",
    commands: BOTH,
  },
  /**
   * Requests that are remembered for each model, and not run any more, since they have ended the process or thread that
   * ran them; 0 = none. Default 64.
   */
  poisonRequests: {
    slice: "limits",
    type: "count",
    min: 0,
    placeholder: "COUNT",
    default: 64,
    help: "requests of each model that are not run again since they ended its process (0 = none)",
    details: "They are known by a hash of their inputs, and forgotten after an hour.",
    commands: SERVE,
  },
  /** Bytes of the requests under way at most. Default 512 MB. */
  maxQueueBytes: {
    slice: "limits",
    type: "bytes",
    placeholder: "SIZE",
    /** Room for one more message of the maximum size. */
    default: 2 * 256 * 1024 * 1024,
    help: "maximum memory of all requests together",
    details:
      "Bodies count as they arrive and as they are inflated, then inputs, outputs, and answers until they are sent. Further requests are refused at once, but a single request is always accepted.",
    commands: BOTH,
  },
  /** The largest message or body taken, in bytes. Default 256 MB. */
  maxMessageBytes: {
    slice: "limits",
    type: "bytes",
    placeholder: "SIZE",
    /** Room for a batch of large images, far below what would hurt a machine. */
    default: 256 * 1024 * 1024,
    help: "maximum size of a message or body, such as 64MB",
    commands: BOTH,
  },
  /** Connections of both ports at a time; 0 = no limit. Default 16 384. */
  maxConnections: {
    slice: "limits",
    type: "count",
    min: 0,
    unit: " (0 = no limit)",
    placeholder: "COUNT",
    /** Far below what a process may have open, and some hundreds of megabytes if all are idle. */
    default: 16_384,
    help: "maximum connections at a time; 0 disables",
    details: "Those of both ports together; further ones are reset at once. The Unix socket has a limit of its own.",
    commands: BOTH,
  },
  /** Threads that accept connections, and read and write messages, at the same ports. Default 1: the main thread. */
  listeners: {
    slice: "limits",
    type: "count",
    min: 1,
    placeholder: "COUNT",
    default: 1,
    help: "threads that accept connections at the same ports",
    details:
      "With 1 the main thread does. More need Linux and Node.js 22.12, and are of use with four processor cores or more, from some 20 000 requests per second on.",
    commands: SERVE,
  },
  /** Property that distinguishes clients: `address` (of IPv6 the /64), `user`, or `header:NAME`. Default `address`. */
  clientKey: {
    slice: "limits",
    type: "text",
    placeholder: "KEY",
    default: "address",
    help: "how clients are told apart: address, user, header:NAME",
    details: "Of an IPv6 address the /64 counts. A call without user or header counts by its address.",
    commands: BOTH,
  },
  /** Requests per second of each client; 0 = no limit. Default 0. */
  clientRate: {
    slice: "limits",
    type: "count",
    min: 0,
    unit: " per second (0 = no limit)",
    placeholder: "COUNT",
    default: 0,
    help: "maximum requests per second of each client; 0 disables",
    details: "Probes of health do not count. Messages of a stream wait for their turn; other requests are refused.",
    commands: BOTH,
  },
  /** Requests that a client may send at once after a pause. Default: those of a second. */
  clientBurst: {
    slice: "limits",
    type: "count",
    min: 1,
    placeholder: "COUNT",
    help: "requests that a client may send at once after a pause",
    details: "Left out, it is those of a second: the value of `--client-rate`.",
    commands: BOTH,
  },
  /** Requests of each client at a time; 0 = no limit. Default 0. */
  clientMaxInFlight: {
    slice: "limits",
    type: "count",
    min: 0,
    unit: " (0 = no limit)",
    placeholder: "COUNT",
    default: 0,
    help: "maximum requests of each client at a time; 0 disables",
    details: "A stream counts as one.",
    commands: BOTH,
  },
  /** Proxies whose `X-Forwarded-For` is believed: `ADDRESS`, `ADDRESS/BITS` or `unix:`. Default none. */
  trustedProxies: {
    slice: "access",
    type: "list",
    separator: ",",
    isSplit: true,
    placeholder: "RANGE",
    help: "proxies whose X-Forwarded-For is believed, separated by commas; repeatable",
    details: "An address, a range such as 10.0.0.0/8, or `unix:` for those on the Unix socket.",
    commands: BOTH,
  },
  /**
   * Time after which a request fails with `deadline_exceeded`, if its client sets no
   * earlier deadline; 0 = never. Default 0.
   */
  requestTimeoutMs: {
    slice: "limits",
    type: "seconds",
    placeholder: "SECONDS",
    default: 0,
    help: "maximum time of a request; 0 disables",
    details: "A client may set an earlier deadline.",
    commands: SERVE,
  },
  /**
   * Time after which an answer in parts fails with `deadline_exceeded` that has no part yet; 0 = never. Default 0.
   */
  firstPartTimeoutMs: {
    slice: "limits",
    type: "seconds",
    placeholder: "SECONDS",
    default: 0,
    help: "maximum time to the first part of an answer; 0 disables",
    commands: SERVE,
  },
  /**
   * Time after which an answer in parts fails with `deadline_exceeded` if its client can take another part and none
   * comes; 0 = never. Default 0.
   */
  partTimeoutMs: {
    slice: "limits",
    type: "seconds",
    placeholder: "SECONDS",
    default: 0,
    help: "maximum time between two parts of an answer; 0 disables",
    details: "Time that a client takes to read a part does not count; the time of the whole is `--request-timeout`.",
    commands: SERVE,
  },
  /** Milliseconds that a client may take nothing of an answer before it is cut; 0 = no limit. Default 60 s. */
  sendTimeoutMs: {
    slice: "limits",
    type: "seconds",
    placeholder: "SECONDS",
    default: 60_000,
    help: "cut clients that read nothing for so long; 0 disables",
    commands: BOTH,
  },
  /**
   * Bytes per second that a client sends of a message or takes of an answer at least, over 30 s; slower ones are ended.
   * 0 = no limit. Default 1024.
   */
  minClientRate: {
    slice: "limits",
    type: "bytes",
    isMemory: true,
    unit: ", in bytes per second (0 = no limit)",
    placeholder: "SIZE",
    /** Far below any network that a client would use. */
    default: 1024,
    help: "bytes per second that clients send or take at least; 0 disables",
    details: "Measured over 30 s while a message or an answer is on its way; slower clients are ended.",
    commands: BOTH,
  },
  maxRss: {
    type: "bytes",
    isMemory: true,
    placeholder: "SIZE",
    default: 0,
    help: "memory above which it stops in good order; 0 = any",
    details: "It exits with 3, to be started again. Child processes do not count.",
    commands: SERVE,
  },
  shutdownDelayMs: {
    type: "seconds",
    placeholder: "SECONDS",
    default: 5_000,
    help: "time to keep answering after SIGTERM, while not ready",
    details:
      "Load balancers need it to see that the server is not ready. Ctrl-C (SIGINT) has no delay ([Stopping](operations.md#stopping)).",
    commands: BOTH,
  },
  /** Milliseconds that {@link Server.close} waits for requests under way. Default 20 s. */
  drainTimeoutMs: {
    slice: "limits",
    type: "seconds",
    placeholder: "SECONDS",
    /** With the delay before it, below the 30 s after which container platforms kill a process. */
    default: 20_000,
    help: "maximum time to finish requests on stopping",
    commands: BOTH,
  },
} as const satisfies Record<string, Setting>;
