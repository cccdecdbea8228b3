import { basename, resolve } from "node:path";
import type { InferenceSession } from "onnxruntime-node";
import { failedPrecondition, publicText } from "../../../errors.ts";
import type { Pointer } from "../../../platform/native/bind-functions.ts";
import { toCTexts } from "../../../platform/native/memory.ts";
import { customOpFiles } from "../../custom-op-files.ts";
import type { OnnxApi } from "./c-api.ts";
import { check, type NativeContext, takePointer } from "./open-onnx.ts";
import type { WantedProvider } from "./providers.ts";

/** GraphOptimizationLevel by ONNX Runtime's names. */
const OPTIMIZATION_LEVELS = { disabled: 0, basic: 1, extended: 2, layout: 3, all: 99 } as const;
const EXECUTION_MODES = { sequential: 0, parallel: 1 } as const;

/** Options of a session, and of what the JavaScript API has no options for. */
interface NativeOptions extends InferenceSession.SessionOptions {
  /** Libraries of custom operators. */
  readonly customOpPaths?: string | undefined;
  /** The execution providers before the CPU's. */
  readonly providers: readonly WantedProvider[];
  /** Takes the place of the file's bytes. */
  readonly bytes?: Uint8Array | undefined;
}

/** Creates an OrtSession for a model's file, for {@link OnnxApi.ReleaseSession}. */
export function loadSession(context: NativeContext, path: string, options: NativeOptions): Pointer {
  const { api, environment } = context;
  const settings = takePointer(api, (at) => api.CreateSessionOptions(at));
  try {
    setOptions(context, settings, options);
    for (const provider of options.providers) addProvider(context, settings, provider);
    if (options.customOpPaths !== undefined) addCustomOps(context, settings, options.customOpPaths);
    const { bytes } = options;
    if (bytes === undefined)
      return takePointer(api, (at) => api.CreateSession(environment, toNativePath(path), settings, at));
    return takePointer(api, (at) => api.CreateSessionFromArray(environment, bytes, bytes.length, settings, at));
  } finally {
    api.ReleaseSessionOptions(settings);
  }
}

function setOptions({ api }: NativeContext, settings: Pointer, options: InferenceSession.SessionOptions): void {
  const { graphOptimizationLevel = "all", executionMode = "sequential", logSeverityLevel = 4 } = options;
  const { intraOpNumThreads = 0, interOpNumThreads = 0, extra = {} } = options;
  check(api, api.SetSessionGraphOptimizationLevel(settings, OPTIMIZATION_LEVELS[graphOptimizationLevel]));
  check(api, api.SetSessionExecutionMode(settings, EXECUTION_MODES[executionMode]));
  check(api, api.SetSessionLogSeverityLevel(settings, logSeverityLevel));
  check(api, api.SetIntraOpNumThreads(settings, intraOpNumThreads));
  check(api, api.SetInterOpNumThreads(settings, interOpNumThreads));
  for (const [key, value] of Object.entries(extra))
    check(api, api.AddSessionConfigEntry(settings, key, value as string));
}

/** The functions for a provider's options. */
interface ProviderFunctions {
  create(at: BigUint64Array): Pointer | null;
  update(options: Pointer, keys: BigUint64Array, values: BigUint64Array, count: number): Pointer | null;
  append(settings: Pointer, options: Pointer): Pointer | null;
  release(options: Pointer): void;
}

/** Gives a session's options an execution provider, whose library ONNX Runtime loads for it. */
export function addProvider({ api }: NativeContext, settings: Pointer, { name, options }: WantedProvider): void {
  const functions = functionsOf(api, name);
  const texts = (list: readonly string[]) => toCTexts(list.map((text) => Buffer.from(text)));
  const chosen = takePointer(api, functions.create);
  try {
    const [keys, values] = [texts(Object.keys(options)), texts(Object.values(options))];
    check(api, functions.update(chosen, keys, values, keys.length));
    check(api, functions.append(settings, chosen));
  } finally {
    functions.release(chosen);
  }
}

function functionsOf(api: OnnxApi, name: WantedProvider["name"]): ProviderFunctions {
  if (name === "cuda") {
    return {
      create: api.CreateCUDAProviderOptions,
      update: api.UpdateCUDAProviderOptions,
      append: api.SessionOptionsAppendExecutionProvider_CUDA_V2,
      release: api.ReleaseCUDAProviderOptions,
    };
  }
  return {
    create: api.CreateTensorRTProviderOptions,
    update: api.UpdateTensorRTProviderOptions,
    append: api.SessionOptionsAppendExecutionProvider_TensorRT_V2,
    release: api.ReleaseTensorRTProviderOptions,
  };
}

/**
 * Gives a session's options the operators of the libraries of `custom_op_paths`, which ONNX Runtime keeps open as long
 * as the session lives. Throws `failed_precondition` for one that is missing or does not load.
 */
function addCustomOps({ api, version }: NativeContext, settings: Pointer, paths: string): void {
  for (const file of customOpFiles(paths)) {
    try {
      check(api, api.RegisterCustomOpsLibrary_V2(settings, toNativePath(resolve(file))));
    } catch (cause) {
      throw failedPrecondition(
        `The custom op library "${basename(file)}" does not load into ONNX Runtime ${version}: ${publicText(cause)}. It has to export RegisterCustomOps, and to be built for this version or an earlier one.`,
        cause,
      );
    }
  }
}

/** A path as ONNX Runtime takes it (ORTCHAR_T): UTF-8 ending in zero, on Windows UTF-16. */
function toNativePath(path: string): Uint8Array {
  return Buffer.from(`${path}\0`, process.platform === "win32" ? "utf16le" : "utf8");
}
