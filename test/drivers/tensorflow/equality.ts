import { expect } from "vitest";
import type { Model } from "../../../src/drivers/driver.ts";
import { parseOptions } from "../../../src/drivers/option-table.ts";
import tensorflow from "../../../src/drivers/tensorflow/tensorflow.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { fromBfloat16, fromFloat16 } from "../../../src/tensor/float16.ts";
import type { Tensor } from "../../../src/tensor/tensor.ts";
import { readCases, type TensorflowCase, tensorflowModel } from "./tensorflow-cases.ts";

/**
 * Loads a model on one engine and fails unless it answers every case as Python TensorFlow did. Rejects as `load` does.
 */
export async function expectEqualToPython(name: string, engine: "native" | "portable"): Promise<void> {
  const cases = readCases(name);
  const options = parseOptions(tensorflow.options, { ...cases[0]?.options, engine });
  const model = await tensorflow.load(tensorflowModel(name), options, { log: createSilentLogger(), threads: 1 });
  try {
    for (const one of cases) await expectCase(model, one);
  } finally {
    await model.close();
  }
}

async function expectCase(model: Model, { signature, inputs, outputs, tolerance }: TensorflowCase): Promise<void> {
  const answer = await model.predict(inputs, { signature, signal: new AbortController().signal });
  expect(Object.keys(answer).sort()).toEqual(Object.keys(outputs).sort());
  for (const [name, expected] of Object.entries(outputs)) {
    const actual = answer[name] as Tensor;
    expect({ name, dtype: actual.dtype, shape: actual.shape }).toEqual({
      name,
      dtype: expected.dtype,
      shape: expected.shape,
    });
    expect(differences(actual, expected, tolerance), name).toEqual([]);
  }
}

/** Every element that differs, with its place and both values. */
function differences(actual: Tensor, expected: Tensor, tolerance: number): string[] {
  const found = [];
  for (const [index, want] of expected.data.entries()) {
    const [a, b] = [toNumber(actual.dtype, actual.data[index]), toNumber(expected.dtype, want)];
    if (!isNear(a, b, tolerance)) found.push(`[${index}] is ${a}, expected ${b}`);
  }
  return found;
}

function isNear(actual: unknown, expected: unknown, tolerance: number): boolean {
  if (Object.is(actual, expected)) return true;
  if (typeof actual !== "number" || typeof expected !== "number") return false;
  return Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected));
}

/** A form of an element that can be compared: a number, a bigint, or the text of a bytes element. */
export function toNumber(dtype: Tensor["dtype"], element: unknown): unknown {
  if (dtype === "bytes") return Buffer.from(element as Uint8Array).toString("latin1");
  if (dtype === "float16") return fromFloat16(element as number);
  return dtype === "bfloat16" ? fromBfloat16(element as number) : element;
}
