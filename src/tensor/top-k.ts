import { invalidArgument } from "../errors.ts";
import { axisView, forEachLine } from "./axis-view.ts";
import { comparableElements } from "./element-numbers.ts";
import { createTensor, type Tensor } from "./tensor.ts";

/** The largest elements of each line, and where they were. */
export interface TopK {
  /** Of the tensor's dtype, the largest first. */
  readonly values: Tensor;
  /** Places along the axis. */
  readonly indices: Tensor<"int32">;
}

/**
 * The `k` largest elements along an axis (default: the last; negative ones count from the end), all of them where there
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
    const order = Array.from({ length: size }, (_, index) => index);
    order.sort((a, b) => compare(elements[start + b * stride], elements[start + a * stride]) || a - b);
    for (let rank = 0; rank < kept; rank++) {
      const index = order[rank]!;
      indices[target + rank * stride] = index;
      values[target + rank * stride] = tensor.data[start + index * stride] as number;
    }
  });
  return {
    values: createTensor(tensor.dtype, shape, values as never),
    indices: createTensor("int32", shape, indices),
  };
}

/** Below 0 where the first is smaller; NaN is larger than any number. */
function compare(one: number | bigint | undefined, other: number | bigint | undefined): number {
  const [isOneNaN, isOtherNaN] = [Number.isNaN(one), Number.isNaN(other)];
  if (isOneNaN || isOtherNaN) return Number(isOneNaN) - Number(isOtherNaN);
  return Number((one as number) > (other as number)) - Number((one as number) < (other as number));
}
