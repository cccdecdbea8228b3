import { onTestFinished } from "vitest";
import type { Model } from "../../../src/drivers/driver.ts";
import openvino from "../../../src/drivers/openvino/openvino.ts";
import { parseOptions, type RawOptions } from "../../../src/drivers/option-table.ts";
import { createSilentLogger, type Logger } from "../../../src/observability/logger.ts";
import { createTensor, type Tensor } from "../../../src/tensor/tensor.ts";
import { openvinoModel } from "./openvino-cases.ts";

/** Loads a model of test/fixtures/openvino, or a path with a slash; the caller closes it. */
export async function openModel(name: string, options: RawOptions = {}, log?: Logger): Promise<Model> {
  const path = name.includes("/") ? name : openvinoModel(name);
  return openvino.load(path, parseOptions(openvino.options, options), { log: log ?? createSilentLogger(), threads: 1 });
}

/** The same, until the test ends. */
export async function loadModel(name: string, options: RawOptions = {}, log?: Logger): Promise<Model> {
  const model = await openModel(name, options, log);
  onTestFinished(() => model.close());
  return model;
}

/** A float32 tensor of the numbers, or of as many zeros as the shape takes. */
export function floats(shape: readonly number[], ...values: number[]): Tensor<"float32"> {
  const data = new Float32Array(shape.reduce((count, size) => count * size, 1));
  data.set(values);
  return createTensor("float32", shape, data);
}
