import type { InferenceSession } from "onnxruntime-node";
import { failedPrecondition, invalidArgument, type ServingError } from "../../errors.ts";
import { didYouMean } from "../../text/nearest.ts";
import { type OptionTable, parseOptions, takesOption } from "../option-table.ts";

/** Values of `runtime_backend`: GPU for any GPU provider of this build, or an execution provider. */
export const BACKENDS = ["CPU", "GPU", "CUDA", "TENSORRT", "DML", "COREML", "WEBGPU"] as const;
/** Backends of nGraph, which ran ONNX models in the original tool; known only for the error. */
export const OTHER_BACKENDS = ["INTERPRETER", "ARGON", "NNP"] as const;

/** A value of `runtime_backend`. */
export type BackendName = (typeof BACKENDS)[number] | (typeof OTHER_BACKENDS)[number];

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
 * ones, where it is not among them.
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
