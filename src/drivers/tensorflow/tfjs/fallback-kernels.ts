import * as tf from "@tensorflow/tfjs-core";
import type { Logger } from "../../../observability/logger.ts";
import type { Model } from "../../driver.ts";
import { noteTrap, refuseAfterTrap } from "../wasm-trap.ts";
import { checkOutputSize, WASM_BOUNDS, WASM_DEFECTS } from "./kernel-checks.ts";

/** The parts of a backend of TensorFlow.js that are used. */
interface Backend {
  readSync(dataId: tf.DataId): tf.BackendValues;
  write(values: tf.BackendValues, shape: number[], dtype: tf.DataType): tf.DataId;
  disposeData(dataId: tf.DataId, force?: boolean): boolean;
}

/** A kernel's inputs: tensors, or lists of them. */
type Inputs = Record<string, tf.TensorInfo | readonly tf.TensorInfo[] | undefined>;

const untold = new Set<string>();
const told = new Set<string>();

/** The kernels that have run in JavaScript in this thread since this was asked before, each of them once. */
function takeNewFallbacks(): readonly string[] {
  const names = [...untold].sort();
  for (const name of names) told.add(name);
  untold.clear();
  return names;
}

/**
 * Lets the kernels that only the JavaScript backend has run on WebAssembly's tensors,
 * copied there and back; those that WebAssembly has wrong; those whose positions are
 * outside of a tensor; and all that get strings, on which many of WebAssembly's abort.
 * None runs for an output of a size that it must not have.
 */
export function registerFallbackKernels(): void {
  for (const { kernelName, kernelFunc } of tf.getKernelsForBackend("cpu")) {
    const existing = tf.getKernel(kernelName, "wasm");
    const fallback = elsewhere(kernelName, kernelFunc);
    if (existing === undefined)
      tf.registerKernel({ kernelName, backendName: "wasm", kernelFunc: sized(kernelName, fallback) });
    else replace(existing, sized(kernelName, choosing(existing, fallback)));
  }
}

/** Runs only if the output's size may be. */
function sized(kernelName: string, kernelFunc: tf.KernelFunc): tf.KernelFunc {
  return (call) => {
    checkOutputSize(kernelName, call.inputs, call.attrs ?? {});
    return kernelFunc(call);
  };
}

function choosing({ kernelName, kernelFunc }: tf.KernelConfig, fallback: tf.KernelFunc): tf.KernelFunc {
  const isDefect = WASM_DEFECTS[kernelName];
  const isOutside = WASM_BOUNDS[kernelName];
  return (call) => {
    const { inputs, attrs = {}, backend } = call;
    const read = ({ dataId }: tf.TensorInfo) => (backend as Backend).readSync(dataId) as tf.TypedArray;
    const isUnsafe =
      takesStrings(kernelName, inputs as Inputs) ||
      isDefect?.(inputs, attrs) ||
      isOutside?.({ inputs, attrs, read } as never);
    return isUnsafe ? fallback(call) : watched(kernelFunc, call);
  };
}

/** They do not look at the elements. */
const ALIASES = ["Identity", "Reshape"];

function takesStrings(kernelName: string, inputs: Inputs): boolean {
  const isString = (info: tf.TensorInfo | undefined) => info?.dtype === "string";
  if (ALIASES.includes(kernelName)) return false;
  return Object.values(inputs).some((value) =>
    Array.isArray(value) ? value.some(isString) : isString(value as never),
  );
}

function watched(kernelFunc: tf.KernelFunc, call: Parameters<tf.KernelFunc>[0]): ReturnType<tf.KernelFunc> {
  refuseAfterTrap();
  try {
    return kernelFunc(call);
  } catch (reason) {
    noteTrap(reason);
    throw reason;
  }
}

function replace(kernel: tf.KernelConfig, kernelFunc: tf.KernelFunc): void {
  tf.unregisterKernel(kernel.kernelName, "wasm");
  tf.registerKernel({ ...kernel, kernelFunc });
}

function elsewhere(kernelName: string, kernelFunc: tf.KernelFunc): tf.KernelFunc {
  return ({ inputs, attrs, backend: home }) => {
    if (!told.has(kernelName)) untold.add(kernelName);
    const away = tf.findBackend("cpu") as unknown as Backend;
    const copies: tf.TensorInfo[] = [];
    const copy = (info: tf.TensorInfo): tf.TensorInfo => {
      const copied = moveTensor(home as Backend, away, info);
      copies.push(copied);
      return copied;
    };
    try {
      const moved = mapInputs(inputs as Inputs, copy) as tf.NamedTensorInfoMap;
      const results = kernelFunc({ inputs: moved, backend: away, ...(attrs && { attrs }) });
      const outputs = bringHome([results].flat(), away, home as Backend);
      return Array.isArray(results) ? outputs : outputs[0]!;
    } finally {
      for (const { dataId } of copies) away.disposeData(dataId, true);
    }
  };
}

function mapInputs(inputs: Inputs, map: (info: tf.TensorInfo) => tf.TensorInfo): Inputs {
  // Some kernels get a list, in spite of the declared type.
  if (Array.isArray(inputs)) return inputs.map(map) as unknown as Inputs;
  const entries = Object.entries(inputs).map(([name, value]) => {
    if (value === undefined || value === null) return [name, value] as const;
    return [name, Array.isArray(value) ? value.map(map) : map(value as tf.TensorInfo)] as const;
  });
  return Object.fromEntries(entries);
}

function bringHome(results: readonly tf.TensorInfo[], away: Backend, home: Backend): tf.TensorInfo[] {
  return results.map((info) => {
    const moved = moveTensor(away, home, info);
    away.disposeData(info.dataId);
    return moved;
  });
}

function moveTensor(from: Backend, to: Backend, { dataId, shape, dtype }: tf.TensorInfo): tf.TensorInfo {
  return { dataId: to.write(from.readSync(dataId), shape, dtype), shape, dtype };
}

/** The same model, which says once in the log what of it runs slowly. */
export function reportFallbacks(model: Model, log: Logger): Model {
  return {
    ...model,
    predict: async (inputs, call) => {
      const outputs = await model.predict(inputs, call);
      const kernels = takeNewFallbacks();
      if (kernels.length > 0)
        log.info("kernels that WebAssembly lacks run in JavaScript, which is slower", { kernels });
      return outputs;
    },
  };
}
