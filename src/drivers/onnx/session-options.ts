import type { InferenceSession } from "onnxruntime-node";
import type { OptionTable } from "../option-table.ts";
import { BACKENDS, type BackendName, OTHER_BACKENDS } from "./backends.ts";
import { ENGINE_NAMES, type EngineName } from "./engine-name.ts";

/** The driver's options, parsed. */
export interface OnnxOptions {
  readonly engine: "auto" | EngineName;
  readonly runtime_backend: BackendName;
  readonly device_id: number;
  readonly intra_op_threads: number;
  readonly inter_op_threads: number;
  readonly execution_mode: "sequential" | "parallel";
  readonly graph_optimization_level: "disabled" | "basic" | "extended" | "layout" | "all";
  readonly ort_log_level: (typeof LOG_LEVELS)[number];
  readonly custom_op_paths?: string;
  readonly session: Readonly<Record<string, string>>;
  readonly ep: Readonly<Record<string, string>>;
}

/** ONNX Runtime's own names, in the order of their numbers. */
const LOG_LEVELS = ["verbose", "info", "warning", "error", "fatal"] as const;

/** The `-o` keys of the onnx driver. */
export const ONNX_OPTIONS: OptionTable<OnnxOptions> = {
  engine: {
    type: "choice",
    choices: ["auto", ...ENGINE_NAMES],
    default: "auto",
    help: "What calls ONNX Runtime: native is its C API, node the JavaScript API of onnxruntime-node; auto takes native where it can.",
  },
  runtime_backend: {
    type: "choice",
    choices: [...BACKENDS, ...OTHER_BACKENDS],
    default: "CPU",
    help: "What runs the model. GPU is CUDA on Linux, DirectML on Windows, CoreML on macOS.",
  },
  device_id: { type: "integer", default: 0, min: 0, help: "Which GPU; nothing to the CPU." },
  intra_op_threads: {
    type: "integer",
    default: 0,
    min: 0,
    help: "Threads within one operator; 0 = what --threads says.",
  },
  inter_op_threads: {
    type: "integer",
    default: 0,
    min: 0,
    help: "Operators side by side where execution_mode is parallel; 0 = one per core.",
  },
  execution_mode: {
    type: "choice",
    choices: ["sequential", "parallel"],
    default: "sequential",
    help: "Whether independent operators run side by side.",
  },
  graph_optimization_level: {
    type: "choice",
    choices: ["disabled", "basic", "extended", "layout", "all"],
    default: "all",
    help: "How much the model is rewritten while it loads.",
  },
  ort_log_level: {
    type: "choice",
    choices: LOG_LEVELS,
    default: "fatal",
    help: "What ONNX Runtime itself writes to standard error; its errors are in the server's log in any case.",
  },
  custom_op_paths: {
    type: "string",
    help: "Libraries of custom operators, or folders of them, separated by commas.",
  },
  session: {
    type: "prefix",
    help: "A session configuration entry of ONNX Runtime, such as session.intra_op.allow_spinning=0. Entries that do not begin with session are given after it: session.optimization.KEY.",
  },
  ep: { type: "prefix", help: "An option of the execution provider, such as ep.gpu_mem_limit=4000000000 for CUDA." },
};

/** The first words of configuration entries outside `session`, by onnxruntime_session_options_config_keys.h. */
const OTHER_FAMILIES = ["ep", "memory", "mlas", "optimization"];

/** Session options as ONNX Runtime takes them, without its execution providers. */
export function toSessionOptions(options: OnnxOptions): InferenceSession.SessionOptions {
  return {
    intraOpNumThreads: options.intra_op_threads,
    interOpNumThreads: options.inter_op_threads,
    executionMode: options.execution_mode,
    graphOptimizationLevel: options.graph_optimization_level,
    logSeverityLevel: logLevelOf(options),
    extra: toConfigEntries(options.session),
  };
}

/** ONNX Runtime's number for `ort_log_level`. */
export function logLevelOf({ ort_log_level }: Pick<OnnxOptions, "ort_log_level">): 0 | 1 | 2 | 3 | 4 {
  return LOG_LEVELS.indexOf(ort_log_level) as 0 | 1 | 2 | 3 | 4;
}

function toConfigEntries(session: OnnxOptions["session"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(session).map(([key, value]) => {
      const family = key.split(".", 1)[0]!;
      return [OTHER_FAMILIES.includes(family) ? key : `session.${key}`, value];
    }),
  );
}
