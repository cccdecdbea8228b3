import { datatypeNamed } from "../protocols/kserve/datatype.ts";
import { type IntegerRange, integerRange } from "../tensor/dtype.ts";
import { overflowOf } from "../tensor/float16.ts";
import type { Element } from "./form-tensor.ts";

/** A value of JSON as an element; throws an Error for one that the datatype does not hold. */
export function toElement(value: unknown, datatype: string): Element {
  if (datatype === "BYTES") return typeof value === "string" ? value : textOf(value);
  if (datatype === "BOOL") return toBoolean(value);
  if (typeof value !== "number" && typeof value !== "bigint")
    throw new Error(`${textOf(value)} is not ${datatype}; expected a number.`);
  const dtype = datatypeNamed(datatype)?.dtype ?? "float64";
  const range = integerRange(dtype);
  if (range !== undefined) return toWhole(value, datatype, range);
  if (Math.abs(Number(value)) < overflowOf(dtype)) return Number(value);
  throw new Error(`${value} is beyond the numbers of ${datatype}.`);
}

function toBoolean(value: unknown): boolean {
  if (value === true || value === 1) return true;
  if (value === false || value === 0) return false;
  throw new Error(`${textOf(value)} is not BOOL; expected true or false.`);
}

function toWhole(value: number | bigint, datatype: string, [first, end]: IntegerRange): Element {
  if (typeof value === "number" && !Number.isInteger(value))
    throw new Error(`${value} is not ${datatype}; expected a whole number.`);
  if (value < first || value >= end)
    throw new Error(
      `${value} is beyond the numbers of ${datatype}, which are ${BigInt(first)} to ${BigInt(end) - 1n}.`,
    );
  return datatype.endsWith("64") ? BigInt(value) : Number(value);
}

/** JSON writes no BigInts. */
function textOf(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  return JSON.stringify(value, (_, one) => (typeof one === "bigint" ? Number(one) : one));
}
