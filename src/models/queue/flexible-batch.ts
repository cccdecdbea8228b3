import type { Model, PredictCall } from "../../drivers/driver.ts";
import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { rowCount, sliceRows } from "../../tensor/rows.ts";
import type { Dimension, Signature, TensorSpec } from "../../tensor/signature/signature.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";
import { checkedRows, joinParts } from "./batch-rows.ts";

/**
 * Makes a model with a fixed first dimension take any number of rows: it runs once per so many rows, and the outputs
 * are put together. Throws `failed_precondition` for a model whose inputs have no fixed first dimension in common.
 */
export function flexibleBatch(model: Model): Model {
  const sizes = new Map(Object.entries(model.signatures).map(([name, signature]) => [name, batchSize(signature)]));
  return {
    ...model,
    signatures: Object.fromEntries(Object.entries(model.signatures).map(([name, each]) => [name, anyRows(each)])),
    predict: (inputs, call) => predictInParts(model, inputs, call, sizes.get(call.signature)!),
    close: () => model.close(),
  };
}

function batchSize({ inputs = [] }: Signature): number {
  const first = inputs.map(({ shape }) => shape?.[0]);
  const [size] = first;
  if (typeof size === "number" && size > 0 && first.every((each) => each === size)) return size;
  throw failedPrecondition(
    `flexible_batch_size needs inputs with one fixed first dimension; these have ${first.map(String).join(", ")}. A model that takes any number of rows needs no such option.`,
  );
}

function anyRows(signature: Signature): Signature {
  const change = (specs: readonly TensorSpec[]) =>
    specs.map((spec) => (spec.shape === undefined ? spec : { ...spec, shape: withoutRows(spec.shape) }));
  const { inputs, outputs } = signature;
  return { ...signature, ...(inputs && { inputs: change(inputs) }), ...(outputs && { outputs: change(outputs) }) };
}

function withoutRows(shape: readonly Dimension[]): readonly Dimension[] {
  return shape.length === 0 ? shape : [-1, ...shape.slice(1)];
}

async function predictInParts(model: Model, inputs: Tensors, call: PredictCall, size: number): Promise<Tensors> {
  const rows = rowsOf(inputs, size);
  if (rows === size) return model.predict(inputs, call);
  const parts: Tensors[] = [];
  for (let start = 0; start < rows; start += size) {
    // A driver that blocks the thread would keep it from noticing that the request is over.
    if (start > 0) await new Promise(setImmediate);
    call.signal.throwIfAborted();
    const part = createTensors(
      Object.entries(inputs).map(([name, tensor]) => [name, sliceRows(tensor, start, start + size)]),
    );
    parts.push(checkedRows(await model.predict(part, call), size));
  }
  return joinParts(parts);
}

function rowsOf(inputs: Tensors, size: number): number {
  const entries = Object.entries(inputs);
  const rows = rowCount(entries[0]?.[1] as never) ?? 0;
  const wrong = entries.find(([, tensor]) => rowCount(tensor) !== rows);
  if (wrong !== undefined) {
    throw invalidArgument(`Input "${wrong[0]}" has ${wrong[1].shape[0]} rows, but "${entries[0]?.[0]}" has ${rows}.`);
  }
  if (rows > 0 && rows % size === 0) return rows;
  throw invalidArgument(
    `The inputs have ${rows} rows; expected one or more times ${size}, which the model takes at once.`,
  );
}
