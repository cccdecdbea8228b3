import { invalidArgument } from "../errors.ts";
import type { DType } from "./dtype.ts";
import { fromBfloat16, fromFloat16 } from "./float16.ts";
import type { Tensor } from "./tensor.ts";

/** Maximum number of empty lists: a shape without elements, such as [60000, 60000, 0], costs its sender nothing. */
const MAX_EMPTY_LISTS = 2 ** 16;

/** One element of a tensor as a JavaScript value; complex numbers are pairs of real and imaginary part. */
export type Element = number | bigint | boolean | Uint8Array | readonly [number, number];

/** Reads the element at a row-major index. */
function elementAt(tensor: Tensor, index: number): Element {
  switch (tensor.dtype) {
    case "bool":
      return tensor.data[index] !== 0;
    case "float16":
      return fromFloat16(tensor.data[index]!);
    case "bfloat16":
      return fromBfloat16(tensor.data[index]!);
    case "complex64":
    case "complex128":
      return [tensor.data[2 * index]!, tensor.data[2 * index + 1]!];
    default:
      return tensor.data[index]!;
  }
}

/**
 * The tensor as arrays nested like its shape (rank 0: the bare element), each element passed through `leaf`.
 * Throws `invalid_argument` for a tensor without elements whose shape would make more than 65536 empty lists.
 */
export function toNested(tensor: Tensor, leaf: (element: Element, dtype: DType) => unknown): unknown {
  checkEmptyLists(tensor);
  let next = 0;
  const build = (level: number): unknown => {
    if (level === tensor.shape.length) return leaf(elementAt(tensor, next++), tensor.dtype);
    return Array.from({ length: tensor.shape[level]! }, () => build(level + 1));
  };
  return build(0);
}

function checkEmptyLists({ shape }: Tensor): void {
  const end = shape.indexOf(0);
  if (end === -1) return;
  const lists = shape.slice(0, end).reduce((product, size) => product * size, 1);
  if (lists <= MAX_EMPTY_LISTS) return;
  throw invalidArgument(
    `Shape [${shape}] has no elements, but ${lists} empty lists; expected ${MAX_EMPTY_LISTS} at most.`,
  );
}

/** Elements that can be compared with one another: numbers, or bigints of a 64-bit dtype. */
type Comparable = ArrayLike<number> | ArrayLike<bigint>;

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

/** The indices of an element by its place in row-major order, as a text: `[0, 17, 3]`. */
export function indexText(place: number, shape: readonly number[]): string {
  let rest = place;
  const indices = shape.toReversed().map((size) => {
    const index = rest % size;
    rest = Math.floor(rest / size);
    return index;
  });
  return `[${indices.toReversed().join(", ")}]`;
}
