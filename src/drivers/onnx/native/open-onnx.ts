import { failedPrecondition, ServingError } from "../../../errors.ts";
import { bindFunctions, openLibrary, type Pointer } from "../../../platform/native/bind-functions.ts";
import { bindPlaces } from "../../../platform/native/memory.ts";
import {
  API_BASE,
  API_VERSION,
  ASSIGNMENT_API,
  ASSIGNMENT_VERSION,
  type AssignmentApi,
  C_API,
  type OnnxApi,
} from "./c-api.ts";

/** ONNX Runtime in this thread, with what each of its calls needs. */
export interface NativeContext {
  readonly api: OnnxApi;
  /** Absent in a library that is too old for it. */
  readonly assignment?: AssignmentApi;
  readonly version: string;
  /** The process has one, which is never freed. */
  readonly environment: Pointer;
  /** Describes memory of ours. */
  readonly memory: Pointer;
  readonly allocator: Pointer;
}

/** Libraries that this thread has opened, by path. */
const opened = new Map<string, NativeContext>();

/** OrtArenaAllocator and OrtMemTypeDefault. */
const MEMORY = [1, 0] as const;

/**
 * Opens ONNX Runtime's library; `logLevel` counts for the first of the process. Throws `failed_precondition` for a file
 * that does not load, and for a library that is too old.
 */
export function openOnnx(path: string, logLevel: number): NativeContext {
  const known = opened.get(path);
  if (known !== undefined) return known;
  const title = `The ONNX Runtime library "${path}"`;
  const { OrtGetApiBase } = bindFunctions(openLibrary(path), { OrtGetApiBase: ["void *"] }, title);
  const base = bindPlaces(OrtGetApiBase() as Pointer, API_BASE);
  const version = base.GetVersionString() ?? "";
  const functions = base.GetApi(API_VERSION);
  if (functions === null)
    throw failedPrecondition(`${title} is version ${version}; expected 1.${API_VERSION} or later.`);
  const api = bindPlaces(functions, C_API);
  const newer = base.GetApi(ASSIGNMENT_VERSION);
  const context: NativeContext = {
    api,
    ...(newer !== null && { assignment: bindPlaces(newer, ASSIGNMENT_API) }),
    version,
    environment: takePointer(api, (at) => api.CreateEnv(logLevel, "kserving", at)),
    memory: takePointer(api, (at) => api.CreateCpuMemoryInfo(...MEMORY, at)),
    allocator: takePointer(api, (at) => api.GetAllocatorWithDefaultOptions(at)),
  };
  opened.set(path, context);
  return context;
}

const at = new BigUint64Array(1);
const count = new Int32Array(1);

/** Throws an error with ONNX Runtime's text for a status, which it releases. */
export function check(api: OnnxApi, status: Pointer | null): void {
  if (status === null) return;
  const message = api.GetErrorMessage(status) ?? "";
  api.ReleaseStatus(status);
  throw new Error(message);
}

/** The pointer that a function writes to its last argument. */
export function takePointer(api: OnnxApi, call: (at: BigUint64Array) => Pointer | null): Pointer {
  at[0] = 0n;
  check(api, call(at));
  const [pointer] = at as unknown as [Pointer];
  if (pointer === 0n) throw new ServingError("internal", "ONNX Runtime reports success and gives nothing.");
  return pointer;
}

/** The `size_t` that a function writes to its last argument. */
export function takeSize(api: OnnxApi, call: (at: BigUint64Array) => Pointer | null): number {
  check(api, call(at));
  return Number(at[0]);
}

/** The `int` or enumeration that a function writes to its last argument. */
export function takeInt(api: OnnxApi, call: (at: Int32Array) => Pointer | null): number {
  check(api, call(count));
  return count[0]!;
}
