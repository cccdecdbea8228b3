import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";
import "@tensorflow/tfjs-backend-wasm";
import { failedPrecondition, ServingError } from "../../../errors.ts";
import { registerFallbackKernels } from "./fallback-kernels.ts";
import { sizeOfNew } from "./kernel-checks.ts";

/** The parts of the WebAssembly backend that are mended. */
interface WasmBackend {
  readonly wasm: { readonly HEAPU8: Uint8Array; _malloc(bytes: number): number };
  readonly dataIdMap: { get(dataId: object): { readonly memoryOffset: number | null } };
  /** Takes memory for a tensor; without values it stays as it is. */
  move(dataId: object, values: tf.BackendValues | null, shape: number[], dtype: tf.DataType, refCount: number): void;
}

let started: Promise<void> | undefined;

/**
 * Starts TensorFlow.js on WebAssembly in this thread, once; kernels that WebAssembly lacks run in JavaScript.
 * Throws `failed_precondition` if WebAssembly cannot be started.
 */
export function startTfjs(): Promise<void> {
  started ??= start();
  return started;
}

async function start(): Promise<void> {
  try {
    // Its greeting and advice are for people at a browser's console.
    tf.env().set("PROD", true);
    if (!(await tf.setBackend("wasm"))) throw new Error("setBackend gave false");
    const backend = tf.backend() as unknown as WasmBackend;
    refuseWhenFull(backend);
    clearNew(backend);
    registerFallbackKernels();
  } catch (cause) {
    throw failedPrecondition("TensorFlow.js cannot start its WebAssembly backend.", cause);
  }
}

/** The backend takes an allocation that failed for address 0 and would compute on whatever lies there. */
function refuseWhenFull({ wasm }: WasmBackend): void {
  const malloc = wasm._malloc;
  wasm._malloc = (bytes) => {
    const address = malloc(bytes);
    if (address !== 0) return address;
    throw new ServingError("resource_exhausted", `WebAssembly's memory is full: ${bytes} bytes more do not fit.`);
  };
}

/**
 * Clears the memory of a new tensor, which another request's values may have had: not every kernel writes all of it.
 */
function clearNew(backend: WasmBackend): void {
  const { move } = backend;
  backend.move = (dataId, values, shape, dtype, refCount) => {
    const count = sizeOfNew(shape, "A tensor", dtype === "string");
    move.call(backend, dataId, values, shape, dtype, refCount);
    const { memoryOffset } = backend.dataIdMap.get(dataId);
    if (values !== null || memoryOffset === null) return;
    backend.wasm.HEAPU8.fill(0, memoryOffset, memoryOffset + count * tf.util.bytesPerElement(dtype));
  };
}
