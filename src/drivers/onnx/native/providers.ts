import { failedPrecondition } from "../../../errors.ts";
import type { Pointer } from "../../../platform/native/bind-functions.ts";
import { copyFromNative, readText } from "../../../platform/native/memory.ts";
import type { OptionTable } from "../../option-table.ts";
import { type BackendOptions, parseProviderOptions } from "../session-options.ts";
import { check, type NativeContext, takePointer } from "./open-onnx.ts";

/** An execution provider that a session is to have, with its options by ONNX Runtime's names. */
export interface WantedProvider {
  readonly name: "cuda" | "tensorrt";
  readonly options: Readonly<Record<string, string>>;
}

/**
 * CUDA's options but for those that take addresses, and for CUDA graphs, which need
 * inputs that stay in the GPU's memory.
 */
export const CUDA_OPTIONS: OptionTable<Record<string, unknown>> = {
  gpu_mem_limit: { type: "integer", min: 1, help: "Bytes of the GPU's memory that a model may take; default: all." },
  arena_extend_strategy: {
    type: "choice",
    choices: ["kNextPowerOfTwo", "kSameAsRequested"],
    help: "By how much its memory grows: twice as much each time (default), or what is needed.",
  },
  cudnn_conv_algo_search: {
    type: "choice",
    choices: ["EXHAUSTIVE", "HEURISTIC", "DEFAULT"],
    help: "How an algorithm for a convolution is chosen when a shape comes first: by trying all (default), by a guess, or not.",
  },
  cudnn_conv_use_max_workspace: { type: "boolean", help: "Whether convolutions may take much memory." },
  cudnn_conv1d_pad_to_nc1d: { type: "boolean", help: "The side on which one-dimensional convolutions are padded." },
  do_copy_in_default_stream: { type: "boolean", help: "Whether copies wait for what runs." },
  enable_cudnn: {
    type: "boolean",
    help: "Whether cuDNN is used, and has to be there; without it ONNX Runtime has kernels of its own.",
  },
  enable_skip_layer_norm_strict_mode: { type: "boolean", help: "Whether SkipLayerNormalization is exact." },
  fuse_conv_bias: { type: "boolean", help: "Whether a convolution's bias is added within it." },
  prefer_nhwc: { type: "boolean", help: "Whether convolutions have the channels last." },
  sdpa_kernel: { type: "integer", min: 0, help: "Kernels of attention, as bits of ONNX Runtime's AttentionBackend." },
  tunable_op_enable: { type: "boolean", help: "Whether tuned operators are used." },
  tunable_op_tuning_enable: { type: "boolean", help: "Whether they are tuned while they run." },
  tunable_op_max_tuning_duration_ms: { type: "integer", min: 0, help: "How long that may take." },
  use_ep_level_unified_stream: { type: "boolean", help: "Whether all runs of a model have one stream." },
  use_tf32: { type: "boolean", help: "Whether products of float32 have TF32's 10 bits of mantissa." },
};

/** TensorRT's options, likewise. */
const TENSORRT_NAMES = [
  ...["auxiliary_streams", "bf16_enable", "builder_optimization_level", "context_memory_sharing_enable"],
  ...["detailed_build_log", "dla_core", "dla_enable", "dump_ep_context_model", "dump_subgraphs"],
  ...["engine_cache_enable", "engine_cache_path", "engine_cache_prefix", "engine_hw_compatible"],
  ...["ep_context_embed_mode", "ep_context_file_path", "extra_plugin_lib_paths", "force_sequential_engine_build"],
  ...["force_timing_cache", "fp16_enable", "int8_calibration_table_name", "int8_enable"],
  ...["int8_use_native_calibration_table", "layer_norm_fp32_fallback", "max_partition_iterations"],
  ...["max_workspace_size", "min_subgraph_size", "op_types_to_exclude", "preview_features"],
  ...["profile_max_shapes", "profile_min_shapes", "profile_opt_shapes", "sparsity_enable", "tactic_sources"],
  ...["timing_cache_enable", "timing_cache_path", "weight_stripped_engine_enable"],
];

const TENSORRT_OPTIONS: OptionTable<Record<string, unknown>> = Object.fromEntries(
  TENSORRT_NAMES.map((name) => [`trt_${name}`, { type: "string", help: "As ONNX Runtime's documents have it." }]),
);

/**
 * The execution providers that the options ask for, best first; none for the CPU alone.
 * TensorRT has CUDA after it, for the operators that it lacks. Throws `invalid_argument`
 * for options that they do not take, and `failed_precondition` for other backends.
 */
export function wantedProviders({ runtime_backend, device_id, ep }: BackendOptions): readonly WantedProvider[] {
  const device = { device_id: String(device_id) };
  switch (runtime_backend) {
    case "CPU":
      parseProviderOptions("cpu", {}, ep);
      return [];
    case "GPU":
    case "CUDA":
      return [{ name: "cuda", options: { ...device, ...toTexts(parseProviderOptions("cuda", CUDA_OPTIONS, ep)) } }];
    case "TENSORRT": {
      const options = toTexts(parseProviderOptions("tensorrt", TENSORRT_OPTIONS, ep));
      return [
        { name: "tensorrt", options: { ...device, ...options } },
        { name: "cuda", options: device },
      ];
    }
    default:
      throw failedPrecondition(
        `The engine native runs models on CPU, CUDA and TENSORRT, not ${runtime_backend}; leave -o engine out.`,
      );
  }
}

/** ONNX Runtime reads numbers for booleans, too. */
function toTexts(options: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(options).map(([key, value]) => [key, typeof value === "boolean" ? `${Number(value)}` : `${value}`]),
  );
}

/** The execution providers of this build: `cpu`, `cuda`. */
export function listProviders({ api }: NativeContext): string[] {
  const at = new BigUint64Array(1);
  const count = new Int32Array(1);
  check(api, api.GetAvailableProviders(at, count));
  const [list = 0n] = at;
  const names = Array.from(copyFromNative(new BigUint64Array(count[0]!), list), readText);
  check(api, api.ReleaseAvailableProviders(list, count[0]!));
  return names.map((name) => name.replace(/ExecutionProvider$/, "").toLowerCase());
}

/** The session configuration entry for {@link readAssignment}. */
export const RECORD_ASSIGNMENT = { "session.record_ep_graph_assignment_info": "1" };

const CPU = "CPUExecutionProvider";
const PROVIDER_NAMES: Readonly<Record<WantedProvider["name"], string>> = {
  cuda: "CUDAExecutionProvider",
  tensorrt: "TensorrtExecutionProvider",
};

/** The types of a session's operators by the execution provider that runs them. */
type Assignment = ReadonlyMap<string, readonly string[]>;

/** Asks a session which execution provider runs which operators; undefined in a library that does not tell. */
export function readAssignment(context: NativeContext, session: Pointer): Assignment | undefined {
  const { api, assignment: functions } = context;
  if (functions === undefined) return undefined;
  const found = new Map<string, string[]>();
  for (const graph of takeList(context, (at, count) =>
    functions.Session_GetEpGraphAssignmentInfo(session, at, count),
  )) {
    const provider = readText(takePointer(api, (at) => functions.EpAssignedSubgraph_GetEpName(graph, at)));
    const nodes = takeList(context, (at, count) => functions.EpAssignedSubgraph_GetNodes(graph, at, count));
    const types = nodes.map((node) =>
      readText(takePointer(api, (at) => functions.EpAssignedNode_GetOperatorType(node, at))),
    );
    found.set(provider, [...(found.get(provider) ?? []), ...types]);
  }
  return found;
}

/** Addresses that belong to the session. */
function takeList(
  { api }: NativeContext,
  call: (at: BigUint64Array, count: BigUint64Array) => Pointer | null,
): Pointer[] {
  const [at, count] = [new BigUint64Array(1), new BigUint64Array(1)];
  check(api, call(at, count));
  return [...copyFromNative(new BigUint64Array(Number(count[0])), at[0]!)];
}

/** Numbers of operators on a GPU and on the CPU, with the types of the latter. */
interface GpuShare {
  readonly gpu: number;
  readonly cpu: number;
  readonly cpuOperators: readonly string[];
}

/**
 * Counts the operators on a GPU. Throws `failed_precondition` if a provider has
 * none, and others would run all of them unnoticed.
 */
export function requireGpu(assignment: Assignment, { name }: Pick<WantedProvider, "name">): GpuShare {
  const ofCpu = assignment.get(CPU) ?? [];
  const all = [...assignment.values()].flat();
  if (all.length === 0 || assignment.has(PROVIDER_NAMES[name]))
    return { gpu: all.length - ofCpu.length, cpu: ofCpu.length, cpuOperators: toTypes(ofCpu) };
  const message = `None of the model's operators runs on the GPU by ${name.toUpperCase()}: ONNX Runtime gives ${toTypes(all).join(", ")} to others. Leave -o runtime_backend out.`;
  throw failedPrecondition(message);
}

function toTypes(operators: readonly string[]): string[] {
  return [...new Set(operators)].sort();
}
