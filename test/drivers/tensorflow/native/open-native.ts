import { onTestFinished } from "vitest";
import type { Model } from "../../../../src/drivers/driver.ts";
import { parseOptions, type RawOptions } from "../../../../src/drivers/option-table.ts";
import tensorflow from "../../../../src/drivers/tensorflow/tensorflow.ts";
import { createSilentLogger, type Logger } from "../../../../src/observability/logger.ts";
import { createTensor, type Tensor } from "../../../../src/tensor/tensor.ts";
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
