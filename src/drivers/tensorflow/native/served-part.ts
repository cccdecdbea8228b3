import type { Pointer } from "../../../native/bind-functions.ts";
import type { TensorflowApi } from "./c-api.ts";
import { OUTPUT_BYTES } from "./graph.ts";

/**
 * The operations that these need, with themselves. What a graph has in addition restores, initialises and saves the
 * model, to files of any name.
 */
export function servedPart(api: TensorflowApi, operations: readonly Pointer[]): ReadonlySet<Pointer> {
  const found = new Set(operations);
  // A set is walked to its end while it grows.
  for (const operation of found) {
    for (const needed of [...inputsOf(api, operation), ...controlInputsOf(api, operation)]) found.add(needed);
  }
  return found;
}

function inputsOf(api: TensorflowApi, operation: Pointer): Pointer[] {
  const count = api.TF_OperationNumInputs(operation);
  if (count === 0) return [];
  const outputs = new Uint8Array(count * OUTPUT_BYTES);
  api.TF_OperationAllInputs(operation, outputs, count);
  const view = new DataView(outputs.buffer);
  return Array.from({ length: count }, (_, index) => view.getBigUint64(index * OUTPUT_BYTES, true));
}

function controlInputsOf(api: TensorflowApi, operation: Pointer): BigUint64Array {
  const count = api.TF_OperationNumControlInputs(operation);
  const operations = new BigUint64Array(count);
  if (count > 0) api.TF_OperationGetControlInputs(operation, operations, count);
  return operations;
}
