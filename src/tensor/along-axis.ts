import { invalidArgument } from "../errors.ts";
import { comparableElements, elementNumbers } from "./elements.ts";
import { createTensor, elementCount, type Tensor } from "./tensor.ts";

/**
 * The index of the largest element along an axis (default: the last; negative ones count from the end): the first of
 * equal ones; the first NaN if there is any, as in numpy. Gives int32 of the shape without the axis:
 * `[rows, classes]` becomes `[rows]`. Throws `invalid_argument` for an axis that is not there or is empty, and for
 * bytes and complex numbers.
 */
export function argmax(tensor: Tensor, axis = -1): Tensor<"int32"> {
  const elements = comparableElements(tensor, "argmax");
  const view = axisView(tensor.shape, axis, "argmax");
  const { size, innerCount: stride } = view;
  const indices = new Int32Array(view.outerCount * stride);
  if (size === 0 && indices.length > 0) {
    throw invalidArgument(`argmax got shape [${tensor.shape}], whose axis ${axis} is empty.`);
  }
  forEachLine(view, (start, line) => {
    let best = 0;
    for (let index = 1; index < size; index++) {
      if (isGreater(elements[start + index * stride], elements[start + best * stride])) best = index;
    }
    indices[line] = best;
  });
  return createTensor("int32", view.restShape, indices);
}

/** NaN is greater than everything but NaN. */
function isGreater(one: number | bigint | undefined, other: number | bigint | undefined): boolean {
  if (Number.isNaN(other)) return false;
  return Number.isNaN(one) || (one as number) > (other as number);
}

/**
 * Turns scores into probabilities along an axis (default: the last; negative ones count from the end): each line sums
 * to 1. Gives float64 for float64, else float32, of the same shape. A line with NaN, or with an infinite score, becomes
 * NaN, as in numpy. Throws `invalid_argument` for an axis that is not there, and for bytes and complex numbers.
 */
export function softmax(scores: Tensor, axis = -1): Tensor<"float32"> | Tensor<"float64"> {
  const source = elementNumbers(scores, "softmax");
  const view = axisView(scores.shape, axis, "softmax");
  const isDouble = scores.dtype === "float64";
  const target = isDouble ? new Float64Array(source.length) : new Float32Array(source.length);
  forEachLine(view, (start) => softmaxLine(source, target, { start, stride: view.innerCount, size: view.size }));
  return createTensor(isDouble ? "float64" : "float32", scores.shape, target as never) as Tensor<"float32">;
}

interface Line {
  readonly start: number;
  readonly stride: number;
  readonly size: number;
}

/** Less the largest score first, so that no power overflows. */
function softmaxLine(
  source: ArrayLike<number>,
  target: Float32Array | Float64Array,
  { start, stride, size }: Line,
): void {
  const end = start + size * stride;
  let largest = Number.NEGATIVE_INFINITY;
  for (let at = start; at < end; at += stride) largest = Math.max(largest, source[at]!);
  let sum = 0;
  for (let at = start; at < end; at += stride) sum += Math.exp(source[at]! - largest);
  for (let at = start; at < end; at += stride) target[at] = Math.exp(source[at]! - largest) / sum;
}

/** The largest elements of each line, and where they were. */
export interface TopK {
  /** Of the tensor's dtype, the largest first. */
  readonly values: Tensor;
  /** Places along the axis. */
  readonly indices: Tensor<"int32">;
}

/**
 * The `k` largest elements along an axis (default: the last; negative ones count from the end), all of them if there
 * are fewer. The largest comes first, of equal ones the one with the smaller index, and NaN before all numbers. Both
 * tensors have the shape of the input with the axis shortened. Throws `invalid_argument` for a `k` other than a
 * positive integer, an axis that is not there, and for bytes and complex numbers.
 */
export function topK(tensor: Tensor, k: number, axis = -1): TopK {
  const elements = comparableElements(tensor, "topK");
  const view = axisView(tensor.shape, axis, "topK");
  if (!Number.isInteger(k) || k < 1) {
    throw invalidArgument(`topK got k = ${k}; expected a positive integer.`);
  }
  const { size, innerCount: stride } = view;
  const kept = Math.min(k, size);
  const shape = tensor.shape.map((dimension, index) => (index === view.axis ? kept : dimension));
  const indices = new Int32Array(view.outerCount * kept * stride);
  const values = (tensor.data as Float32Array).slice(0, indices.length);
  forEachLine(view, (start, line) => {
    const target = Math.floor(line / stride) * kept * stride + (line % stride);
    const order = firstOf(size, kept, (a, b) => {
      return compare(elements[start + b * stride], elements[start + a * stride]) || a - b;
    });
    for (const [rank, index] of order.entries()) {
      indices[target + rank * stride] = index;
      values[target + rank * stride] = tensor.data[start + index * stride] as number;
    }
  });
  return {
    values: createTensor(tensor.dtype, shape, values as never),
    indices: createTensor("int32", shape, indices),
  };
}

/** Up to so many, one pass costs less than sorting all. */
const MAX_IN_ONE_PASS = 32;

/** The first ones of the indices below a size, in an order. */
function firstOf(size: number, count: number, order: (a: number, b: number) => number): number[] {
  if (count > MAX_IN_ONE_PASS) {
    return Array.from({ length: size }, (_, index) => index)
      .sort(order)
      .slice(0, count);
  }
  const first: number[] = [];
  for (let index = 0; index < size; index++) {
    if (first.length === count && order(index, first[count - 1]!) > 0) continue;
    let place = Math.min(first.length, count - 1);
    for (; place > 0 && order(index, first[place - 1]!) < 0; place--) first[place] = first[place - 1]!;
    first[place] = index;
  }
  return first;
}

/** Below 0 if the first is smaller; NaN is larger than any number. */
function compare(one: number | bigint | undefined, other: number | bigint | undefined): number {
  const [isOneNaN, isOtherNaN] = [Number.isNaN(one), Number.isNaN(other)];
  if (isOneNaN || isOtherNaN) return Number(isOneNaN) - Number(isOtherNaN);
  return Number((one as number) > (other as number)) - Number((one as number) < (other as number));
}

/**
 * A tensor's elements along one axis: element `i` of the line (outer, inner) lies at
 * `(outer * size + i) * inner count + inner`.
 */
interface AxisView {
  /** Between 0 and the rank. */
  readonly axis: number;
  readonly size: number;
  /** Product of the dimensions before the axis, and of those behind it. */
  readonly outerCount: number;
  readonly innerCount: number;
  /** The tensor's shape without the axis. */
  readonly restShape: readonly number[];
}

/**
 * Finds the lines along an axis; a negative axis counts from the end. Throws `invalid_argument`, naming the caller, for
 * an axis that the shape does not have.
 */
export function axisView(shape: readonly number[], axis: number, caller: string): AxisView {
  const rank = shape.length;
  const place = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(axis) || place < 0 || place >= rank) {
    const expected = rank === 0 ? "a tensor with at least one axis" : `an integer from ${-rank} to ${rank - 1}`;
    throw invalidArgument(`${caller} got axis ${axis} of a tensor of shape [${shape}]; expected ${expected}.`);
  }
  return {
    axis: place,
    size: shape[place]!,
    outerCount: elementCount(shape.slice(0, place)),
    innerCount: elementCount(shape.slice(place + 1)),
    restShape: shape.filter((_, index) => index !== place),
  };
}

/**
 * Calls back with the position of the first element of each line along the axis, and the number of the line; the next
 * element is `innerCount` further.
 */
function forEachLine(view: AxisView, onLine: (start: number, line: number) => void): void {
  const { outerCount, innerCount, size } = view;
  for (let outer = 0; outer < outerCount; outer++) {
    for (let inner = 0; inner < innerCount; inner++) {
      onLine(outer * size * innerCount + inner, outer * innerCount + inner);
    }
  }
}
