import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";
import "@tensorflow/tfjs-backend-wasm";
import { failedPrecondition, ServingError } from "../../../errors.ts";
import { registerFallbackKernels } from "./fallback-kernels.ts";

/** The part of the WebAssembly backend's memory that is mended. */
interface WasmBackend {
  readonly wasm: { _malloc(bytes: number): number };
}

let started: Promise<void> | undefined;

/**
 * Starts TensorFlow.js on WebAssembly in this thread, once; kernels that WebAssembly lacks run in JavaScript.
 * Throws `failed_precondition` where WebAssembly cannot be started.
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
    refuseWhenFull(tf.backend() as unknown as WasmBackend);
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
