import { DRIVER_NAMES } from "../../drivers/registry.ts";
import { SERVER_DEFAULTS } from "../../limits/server-defaults.ts";
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
    help: `runtime of a model: ${DRIVER_NAMES.join(", ")}, or your own ./FILE.ts; repeatable`,
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
    default: SERVER_DEFAULTS.name,
    help: "name under which clients find the model",
    commands: SERVE,
  },
  instances: {
    type: "count",
    min: 1,
    placeholder: "COUNT",
    default: SERVER_DEFAULTS.instances,
    help: "copies of each model, each in its own thread",
    commands: SERVE,
  },
  threads: {
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
  savedModelWarmup: {
    type: "count",
    min: 0,
    placeholder: "COUNT",
    default: SERVER_DEFAULTS.savedModelWarmup,
    help: "runs of each warm-up request in a SavedModel; 0 = none",
    details: "The requests are in its file assets.extra/tf_serving_warmup_requests.",
    commands: SERVE,
  },
  versionBatching: {
    type: "boolean",
    default: SERVER_DEFAULTS.versionBatching,
    help: "batch a version by the batching_params.pbtxt in its folder",
    details: "The file counts before `-o`. It is TensorFlow Serving's.",
    commands: SERVE,
  },
  shareThreads: {
    type: "boolean",
    default: SERVER_DEFAULTS.shareThreads,
    help: "let small models share threads",
    details: "ONNX models up to 1 MB do, if there are more of them than cores.",
    commands: SERVE,
  },
  isolate: {
    type: "boolean",
    default: SERVER_DEFAULTS.isolate,
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
  modelStall: {
    type: "seconds",
    placeholder: "SECONDS",
    default: SERVER_DEFAULTS.modelStallMs / 1000,
    help: "replace model threads that hang for so long; 0 disables",
    commands: SERVE,
  },
} as const satisfies Record<string, Setting>;
