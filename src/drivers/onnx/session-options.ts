import type { InferenceSession } from "onnxruntime-node";
import { failedPrecondition, invalidArgument, type ServingError } from "../../errors.ts";
import { didYouMean } from "../../platform/text/nearest.ts";
import { type OptionTable, parseOptions, takesOption } from "../option-table.ts";

/** Ways to call ONNX Runtime: `native` by its C API, `node` by the JavaScript API of onnxruntime-node. */
export const ENGINE_NAMES = ["native", "node"] as const;

/** One of {@link ENGINE_NAMES}. */
export type EngineName = (typeof ENGINE_NAMES)[number];

/** Values of `runtime_backend`: GPU for any GPU provider of this build, or an execution provider. */
const BACKENDS = ["CPU", "GPU", "CUDA", "TENSORRT", "DML", "COREML", "WEBGPU"] as const;
/** Backends of nGraph, which ran ONNX models in the original tool; known only for the error. */
const OTHER_BACKENDS = ["INTERPRETER", "ARGON", "NNP"] as const;

/** A value of `runtime_backend`. */
type BackendName = (typeof BACKENDS)[number] | (typeof OTHER_BACKENDS)[number];

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

/** The options that pick and configure an execution provider. */
export interface BackendOptions {
  readonly runtime_backend: BackendName;
  readonly device_id: number;
  readonly ep: Readonly<Record<string, string>>;
}

/** Providers that GPU may mean, best first. */
const GPU_PROVIDERS = ["cuda", "dml", "coreml"];
const TAKES_DEVICE_ID = ["cuda", "tensorrt", "dml"];

const CACHE_MODE = {
  type: "choice",
  choices: ["disabled", "lazyRelease", "simple", "bucket"],
  help: "Buffer reuse.",
} as const;

/** The options that ONNX Runtime's JavaScript API passes on, by provider; it would ignore others in silence. */
const PROVIDER_OPTIONS: Readonly<Record<string, OptionTable<Record<string, unknown>>>> = {
  coreml: { coreMlFlags: { type: "integer", min: 0, help: "COREML_FLAG_ bits." } },
  webgpu: {
    preferredLayout: { type: "choice", choices: ["NCHW", "NHWC"], help: "Layout of operators that have two." },
    validationMode: {
      type: "choice",
      choices: ["disabled", "wgpuOnly", "basic", "full"],
      help: "Checks of each call.",
    },
    enableRobustness: { type: "boolean", help: "Whether buffer accesses are checked." },
    storageBufferCacheMode: CACHE_MODE,
    uniformBufferCacheMode: CACHE_MODE,
    queryResolveBufferCacheMode: CACHE_MODE,
    defaultBufferCacheMode: CACHE_MODE,
  },
};

/**
 * The execution provider that the options ask for, of those offered; throws `failed_precondition`, naming the offered
 * ones, if it is not among them.
 */
export function findProvider(
  offered: readonly string[],
  { runtime_backend, device_id, ep }: BackendOptions,
): InferenceSession.ExecutionProviderConfig {
  const wanted = runtime_backend === "GPU" ? GPU_PROVIDERS : [runtime_backend.toLowerCase()];
  const name = wanted.find((candidate) => offered.includes(candidate));
  if (name === undefined) throw notOffered(runtime_backend, offered);
  const device = TAKES_DEVICE_ID.includes(name) ? { deviceId: device_id } : {};
  return { name, ...device, ...parseProviderOptions(name, PROVIDER_OPTIONS[name] ?? {}, ep) };
}

/** The error for a backend that a build of ONNX Runtime does not have. */
export function notOffered(backend: BackendName, offered: readonly string[]): ServingError {
  const gpu = offered.some((name) => GPU_PROVIDERS.includes(name)) ? ["GPU"] : [];
  const names = [...offered.map((name) => name.toUpperCase()), ...gpu].join(", ");
  const message = `runtime_backend ${backend} is not in this build of ONNX Runtime, which offers ${names}.`;
  return failedPrecondition(message);
}

/** The `-o ep.` options of a provider by its table; throws `invalid_argument` for one that it does not take. */
export function parseProviderOptions(
  provider: string,
  table: OptionTable<Record<string, unknown>>,
  ep: BackendOptions["ep"],
): Record<string, unknown> {
  const unknown = Object.keys(ep).find((key) => !takesOption(table, key));
  if (unknown === undefined) return parseOptions(table, ep);
  const known = Object.keys(table);
  const takes = known.length === 0 ? "no ep options" : known.map((key) => `ep.${key}`).join(", ");
  const message = `Option "ep.${unknown}" is unknown: ${provider.toUpperCase()} takes ${takes}.${didYouMean(unknown, known)}`;
  throw invalidArgument(message);
}
