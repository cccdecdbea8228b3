import { createRecord } from "../../tensor/record.ts";
import { byteSize, isTensor, type Tensor, type Tensors } from "../../tensor/tensor.ts";

/**
 * A value that ONNX Runtime takes or gives: a tensor, a sequence of values, a map, or
 * null for an optional without a value.
 */
export type OnnxValue = Tensor | readonly OnnxValue[] | OnnxMap | null;

/** A map's values by its keys, of which numbers are written as texts. */
export type OnnxMap = { readonly [key: string]: number | bigint | boolean | string };

/** Values by name. A null-prototype record: names such as `__proto__` are data. */
export type OnnxValues = Record<string, OnnxValue>;

/** A record of the entries. */
export function createOnnxValues(entries: Iterable<readonly [string, OnnxValue]>): OnnxValues {
  const values: OnnxValues = createRecord();
  for (const [name, value] of entries) values[name] = value;
  return values;
}

/** Checks that all values are tensors. */
export function areTensors(values: OnnxValues): values is Tensors {
  for (const name in values) if (!isTensor(values[name])) return false;
  return true;
}

/** Bytes of all tensors in a value. */
export function sizeOfValue(value: OnnxValue): number {
  if (isTensor(value)) return byteSize(value);
  return Array.isArray(value) ? value.reduce((sum, element) => sum + sizeOfValue(element), 0) : 0;
}
