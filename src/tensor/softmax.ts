import { axisView, forEachLine } from "./axis-view.ts";
import { elementNumbers } from "./element-numbers.ts";
import { createTensor, type Tensor } from "./tensor.ts";

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
