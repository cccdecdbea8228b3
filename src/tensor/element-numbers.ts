import { invalidArgument } from "../errors.ts";
import { fromBfloat16, fromFloat16 } from "./float16.ts";
import type { Tensor } from "./tensor.ts";

/** Elements that can be compared with one another: numbers, or bigints of a 64-bit dtype. */
export type Comparable = ArrayLike<number> | ArrayLike<bigint>;

/**
 * A tensor's elements in a form that can be compared; 64-bit integers stay exact. Throws `invalid_argument`, naming the
 * caller, for bytes and complex numbers.
 */
export function comparableElements(tensor: Tensor, caller: string): Comparable {
  const { dtype } = tensor;
  if (dtype === "float16" || dtype === "bfloat16") {
    return Float32Array.from(tensor.data as Uint16Array, dtype === "float16" ? fromFloat16 : fromBfloat16);
  }
  if (dtype !== "bytes" && dtype !== "complex64" && dtype !== "complex128") return tensor.data as Comparable;
  throw invalidArgument(`${caller} got a ${dtype} tensor; expected real numbers.`);
}

/** The same as numbers; 64-bit integers beyond 2^53 are rounded. */
export function elementNumbers(tensor: Tensor, caller: string): ArrayLike<number> {
  const elements = comparableElements(tensor, caller);
  const is64Bit = elements instanceof BigInt64Array || elements instanceof BigUint64Array;
  return is64Bit
    ? Float64Array.from(elements as unknown as ArrayLike<bigint>, Number)
    : (elements as ArrayLike<number>);
}
