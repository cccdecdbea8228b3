import { availableParallelism } from "node:os";
import type { Model } from "../../src/drivers/driver.ts";
import { parseOptions } from "../../src/drivers/option-table.ts";
import tensorflow from "../../src/drivers/tensorflow/tensorflow.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { DEFAULT_SIGNATURE } from "../../src/tensor/signature/signature.ts";
import { createTensor, createTensors, elementCount } from "../../src/tensor/tensor.ts";
import { quantile } from "../../test/helpers/quantile.ts";

/** Results of a number of callers of a model. */
export interface Pressed {
  readonly perSecond: number;
  readonly p50Ms: number;
}

/** Loads a model as the server does. */
export function loadModel(path: string, engine: "native" | "portable"): Promise<Model> {
  const options = parseOptions(tensorflow.options, { engine });
  return tensorflow.load(path, options, { log: createSilentLogger(), threads: availableParallelism() });
}

/** Calls predict on the model's first input, from several callers at once. */
export async function press(
  model: Model,
  { seconds, callers }: { seconds: number; callers: number },
): Promise<Pressed> {
  const call = createCall(model);
  const times: number[] = [];
  const begin = performance.now();
  const end = begin + seconds * 1000;
  const loop = async () => {
    for (let start = performance.now(); start < end; start = performance.now()) {
      await call();
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: callers }, loop));
  const took = (performance.now() - begin) / 1000;
  return {
    perSecond: times.length / took,
    p50Ms: quantile(
      times.sort((a, b) => a - b),
      0.5,
    ),
  };
}

/** Calls predict so many times, one after the other. */
export async function predictTimes(model: Model, times: number): Promise<void> {
  const call = createCall(model);
  for (let done = 0; done < times; done++) await call();
}

function createCall(model: Model): () => Promise<unknown> {
  const [input] = model.signatures[DEFAULT_SIGNATURE]?.inputs ?? [];
  if (input?.shape === undefined) throw new Error("The model has no input of a known rank.");
  const shape = input.shape.map((size) => (typeof size === "number" && size > 0 ? size : 1));
  const tensor = createTensor("float32", shape, new Float32Array(elementCount(shape)).fill(0.5));
  const inputs = createTensors([[input.name, tensor]]);
  const { signal } = new AbortController();
  return () => model.predict(inputs, { signature: DEFAULT_SIGNATURE, signal });
}
