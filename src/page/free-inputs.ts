import type { FormTensor } from "./form-tensor.ts";
import { parseInput } from "./parse-values.ts";

/** Inputs of any names, from a JSON object of values: `{"x": [1, 2]}`. Throws an Error that says what is expected. */
export function parseFreeInputs(text: string): readonly FormTensor[] {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new Error('This is no JSON; expected an object of inputs such as {"x": [1, 2]}.');
  }
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new Error('Expected an object of inputs such as {"x": [1, 2]}.');
  return Object.entries(given).map(([name, value]) => {
    const datatype = datatypeOf(value);
    const values = datatype === "BYTES" && typeof value === "string" ? value : JSON.stringify(value);
    return parseInput({ name, datatype, shape: Array.isArray(value) ? "0" : "", values });
  });
}

function datatypeOf(value: unknown): string {
  const all = Array.isArray(value) ? value.flat(16) : [value];
  if (all.every((one) => typeof one === "number")) return all.every(Number.isInteger) ? "INT64" : "FP64";
  return all.length > 0 && all.every((one) => typeof one === "boolean") ? "BOOL" : "BYTES";
}
