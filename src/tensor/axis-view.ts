import { invalidArgument } from "../errors.ts";
import { elementCount } from "./tensor.ts";

/**
 * A tensor's elements along one axis: element `i` of the line (outer, inner) lies at
 * `(outer * size + i) * inner count + inner`.
 */
export interface AxisView {
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
export function forEachLine(view: AxisView, onLine: (start: number, line: number) => void): void {
  const { outerCount, innerCount, size } = view;
  for (let outer = 0; outer < outerCount; outer++) {
    for (let inner = 0; inner < innerCount; inner++) {
      onLine(outer * size * innerCount + inner, outer * innerCount + inner);
    }
  }
}
