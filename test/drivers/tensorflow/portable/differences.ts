import type { Tensor, Tensors } from "../../../../src/tensor/tensor.ts";
import { toNumber } from "../equality.ts";

/** Relative to the greater of a number's size and 1. */
const TOLERANCE = 1e-5;

/** The first difference between two answers; undefined where there is none. */
export function differences(actual: Tensors, expected: Tensors): string | undefined {
  for (const [name, tensor] of Object.entries(expected)) {
    const found = difference(actual[name], tensor);
    if (found !== undefined) return `${name} ${found}`;
  }
  return undefined;
}

function difference(actual: Tensor | undefined, expected: Tensor): string | undefined {
  const kind = (tensor: Tensor | undefined) => `${tensor?.dtype} [${tensor?.shape}]`;
  if (actual === undefined || kind(actual) !== kind(expected)) return `is ${kind(actual)}, expected ${kind(expected)}`;
  for (const [index, element] of expected.data.entries()) {
    const [a, b] = [toNumber(actual.dtype, actual.data[index]), toNumber(expected.dtype, element)];
    if (!isNear(a, b)) return `[${index}] is ${a}, expected ${b}`;
  }
  return undefined;
}

function isNear(a: unknown, b: unknown): boolean {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  if (typeof a !== "number" || typeof b !== "number") return false;
  return Math.abs(a - b) <= TOLERANCE * Math.max(1, Math.abs(b));
}
