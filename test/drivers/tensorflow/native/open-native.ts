import { onTestFinished } from "vitest";
import type { Model, PredictCall } from "../../../../src/drivers/driver.ts";
import { parseOptions, type RawOptions } from "../../../../src/drivers/option-table.ts";
import tensorflow from "../../../../src/drivers/tensorflow/tensorflow.ts";
import { createSilentLogger, type Logger } from "../../../../src/observability/logger.ts";
import { DEFAULT_SIGNATURE } from "../../../../src/signature/signature.ts";
import { createTensor, createTensors, type Tensor, type Tensors } from "../../../../src/tensor/tensor.ts";
import { tensorflowModel } from "../tensorflow-cases.ts";

/** Loads a model of test/fixtures/tensorflow, or a path with a slash, on the native engine; the caller closes it. */
export async function openNative(name: string, options: RawOptions = {}, log?: Logger): Promise<Model> {
  const path = name.includes("/") ? name : tensorflowModel(name);
  const parsed = parseOptions(tensorflow.options, { engine: "native", ...options });
  return tensorflow.load(path, parsed, { log: log ?? createSilentLogger(), threads: 1 });
}

/** The same, until the test ends. */
export async function loadNative(name: string, options: RawOptions = {}): Promise<Model> {
  const model = await openNative(name, options);
  onTestFinished(() => model.close());
  return model;
}

/** Runs the model on named tensors. */
export function predict(
  model: Model,
  inputs: Readonly<Record<string, Tensor>>,
  call: Partial<PredictCall> = {},
): Promise<Tensors> {
  const { signal } = new AbortController();
  return model.predict(createTensors(Object.entries(inputs)), { signature: DEFAULT_SIGNATURE, signal, ...call });
}

/** A float32 tensor. */
export function floats(shape: readonly number[], ...values: number[]): Tensor<"float32"> {
  return createTensor("float32", shape, Float32Array.from(values));
}

/** A list of strings. */
export function texts(...values: string[]): Tensor<"bytes"> {
  return createTensor(
    "bytes",
    [values.length],
    values.map((value) => new Uint8Array(Buffer.from(value))),
  );
}
