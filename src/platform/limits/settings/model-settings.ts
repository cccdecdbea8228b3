import { SERVE, type Setting } from "./setting.ts";

/** Settings of models: files, drivers, options, threads. */
export const MODEL_SETTINGS = {
  modelPath: {
    type: "list",
    separator: ",",
    placeholder: "PATH",
    isPath: true,
    help: "model file or folder; repeatable, one stage of the pipeline each",
    details: "The null driver needs none.",
    commands: SERVE,
  },
  driver: {
    type: "list",
    separator: ",",
    placeholder: "NAME",
    help: "runtime of a model: {drivers}, or your own ./FILE.ts; repeatable",
    details:
      "The n-th driver belongs to the n-th model path; it may be omitted where the path's ending determines the format.",
    commands: SERVE,
  },
  option: {
    type: "list",
    separator: ";",
    short: "-o",
    placeholder: "[STAGE:]KEY=VALUE",
    help: "option for all drivers and the hooks; repeatable",
    details: "With STAGE (from 1), only for that stage's driver. Several models pass over those of other drivers.",
    commands: SERVE,
  },
  name: {
    type: "text",
    placeholder: "NAME",
    default: "default",
    help: "name under which clients find the model",
    commands: SERVE,
  },
  /** Copies of each model, each in its own thread. Default 1. */
  instances: {
    slice: "models",
    type: "count",
    min: 1,
    placeholder: "COUNT",
    default: 1,
    help: "copies of each model, each in its own thread",
    commands: SERVE,
  },
  /** Threads that each copy's runtime may use. Default: the cores divided by the instances. */
  threads: {
    slice: "models",
    type: "count",
    min: 1,
    placeholder: "COUNT",
    help: "threads of each copy's runtime",
    details: "By default the number of cores divided by the instances.",
    commands: SERVE,
  },
  warmup: {
    type: "list",
    separator: ",",
    placeholder: "REQUEST",
    help: "request to run before the pipeline is available; repeatable",
    details:
      "`random`, a file with the JSON of a request (KServe V2 or TensorFlow Serving), or a file of --request-log. Models of --config have a key for it.",
    commands: SERVE,
  },
  /** Runs of each warm-up request in a SavedModel; 0 = none. Default 1. */
  savedModelWarmup: {
    slice: "models",
    type: "count",
    min: 0,
    placeholder: "COUNT",
    default: 1,
    help: "runs of each warm-up request in a SavedModel; 0 = none",
    details: "The requests are in its file assets.extra/tf_serving_warmup_requests.",
    commands: SERVE,
  },
  /**
   * Batches a version of a named model as the `batching_params.pbtxt` in its folder
   * says, before its own options. Default false.
   */
  versionBatching: {
    slice: "models",
    type: "boolean",
    default: false,
    help: "batch a version by the batching_params.pbtxt in its folder",
    details: "The file counts before `-o`. It is TensorFlow Serving's.",
    commands: SERVE,
  },
  /** Lets small models share threads, as soon as there are more of them than cores. Default true. */
  shareThreads: {
    slice: "models",
    type: "boolean",
    default: true,
    help: "let small models share threads",
    details: "ONNX models up to 1 MB do, if there are more of them than cores.",
    commands: SERVE,
  },
  /** Runs each copy in its own process, so that a crash of its runtime costs its requests alone. Default false. */
  isolate: {
    slice: "models",
    type: "boolean",
    default: false,
    help: "run each model in a process of its own",
    details:
      "A model that crashes then costs its own requests alone, and is started again. docs/isolation.md says what else it does, and what it costs.",
    commands: SERVE,
  },
  supervisor: {
    type: "boolean",
    default: true,
    help: "start the server again where a crash ends it",
    details:
      "The model that ran then gets a process of its own. --no-supervisor turns it off; a file of settings cannot say it: docs/isolation.md.",
    commands: SERVE,
  },
  crashMarks: {
    type: "text",
    placeholder: "PATH",
    help: "file of the models that ran when the server died",
    details:
      "A later start isolates them too, also where the supervisor itself was killed. By default it is forgotten with the supervisor.",
    commands: SERVE,
  },
  debuggable: {
    type: "boolean",
    default: false,
    help: "let debuggers attach, and crashes leave core dumps",
    details:
      "Otherwise Linux refuses them, so that no process reads another one's secrets; a file of settings cannot say it: docs/security.md.",
    commands: SERVE,
  },
  /** Time after which a model thread whose event loop hangs is replaced; 0 = never. Default 60 s. */
  modelStallMs: {
    slice: "models",
    type: "seconds",
    placeholder: "SECONDS",
    default: 60_000,
    help: "replace model threads that hang for so long; 0 disables",
    commands: SERVE,
  },
} as const satisfies Record<string, Setting>;
