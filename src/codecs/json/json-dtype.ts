import type { DType } from "../../tensor/dtype.ts";
import { type IntegerRange, integerRange } from "../../tensor/integer-range.ts";
import { isJsonList, JsonNumbers, type JsonValue } from "./json-value.ts";

const INT32 = integerRange("int32") as IntegerRange;
const INT64 = integerRange("int64") as IntegerRange;

/**
 * The dtype of values that no signature describes, together: integer literals are int32 if all fit, else int64, or
 * uint64 above its range; with any other literal among them (1.5, 1.0, 1e3, NaN) they are float32; strings and encoded
 * bytes are `bytes`, true and false `bool`. The first element that is not null says which of these it is; others must
 * follow it. Null counts as NaN among numbers.
 */
export function inferDType(values: readonly JsonValue[]): DType {
  const [first] = values;
  if (values.length === 1 && first instanceof JsonNumbers) return numberDType(first);
  let dtype: DType | undefined;
  let hasNull = false;
  const pending = [...values].reverse();
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (value instanceof JsonNumbers) dtype = widest(dtype, numberDType(value));
    else if (isJsonList(value)) for (let index = value.length; index-- > 0; ) pending.push(value[index]!);
    else if (value === null) hasNull = true;
    else if (dtype === undefined) return scalarDType(value);
    if (dtype === "float32") return dtype;
  }
  if (!hasNull) return dtype ?? "float32";
  return dtype === "int64" || dtype === "uint64" ? "float64" : "float32";
}

const WIDENING: readonly DType[] = ["int32", "int64", "uint64", "float32"];

function widest(first: DType | undefined, second: DType): DType {
  return first !== undefined && WIDENING.indexOf(first) > WIDENING.indexOf(second) ? first : second;
}

function scalarDType(value: JsonValue): DType {
  return typeof value === "boolean" ? "bool" : "bytes";
}

function numberDType(numbers: JsonNumbers): DType {
  const { store, start, size } = numbers;
  for (let index = 0; index < size; index++) if (!numbers.isInteger(index)) return "float32";
  const values = store.values.subarray(start, start + size);
  if (values.every((value) => value >= INT32[0] && value < INT32[1])) return "int32";
  const isAbove = values.some((_, index) => numbers.at(index) >= INT64[1]);
  return isAbove ? "uint64" : "int64";
}
