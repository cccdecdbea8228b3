import { invalidArgument } from "../errors.ts";
import { axisView, forEachLine } from "./axis-view.ts";
import { comparableElements } from "./element-numbers.ts";
import { createTensor, type Tensor } from "./tensor.ts";

/**
 * The index of the largest element along an axis (default: the last; negative ones count from the end): the first of
 * equal ones; the first NaN where there is any, as in numpy. Gives int32 of the shape without the axis:
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
