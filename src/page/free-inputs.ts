import { integerRange } from "../tensor/dtype.ts";
import { isObject } from "../tensor/record.ts";
import { readExactJson } from "./exact-json.ts";
import type { FormTensor } from "./form-tensor.ts";
import { toTensor } from "./parse-values.ts";

/** Inputs of any names, from a JSON object of values: `{"x": [1, 2]}`. Throws an Error that says what is expected. */
export function parseFreeInputs(text: string): readonly FormTensor[] {
  let given: unknown;
  try {
    given = readExactJson(text);
  } catch {
    throw new Error('This is no JSON; expected an object of inputs such as {"x": [1, 2]}.');
  }
  if (!isObject(given)) throw new Error('Expected an object of inputs such as {"x": [1, 2]}.');
  return Object.entries(given).map(([name, value]) =>
    toTensor({ name, datatype: datatypeOf(value), shape: undefined }, value),
  );
}

function datatypeOf(value: unknown): string {
  const all = Array.isArray(value) ? value.flat(16) : [value];
  if (all.every((one) => typeof one === "bigint" || Number.isInteger(one)))
    return isIn(all, "int64") ? "INT64" : isIn(all, "uint64") ? "UINT64" : "FP64";
  if (all.every((one) => typeof one === "number" || typeof one === "bigint")) return "FP64";
  return all.every((one) => typeof one === "boolean") ? "BOOL" : "BYTES";
}

function isIn(values: readonly (number | bigint)[], dtype: "int64" | "uint64"): boolean {
  const [first, end] = integerRange(dtype) ?? [0, 0];
  return values.every((value) => value >= first && value < end);
}
