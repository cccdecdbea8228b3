import type { NodeDef } from "../saved-model/graph-def.ts";
import { integer } from "./node-attributes.ts";

/** The begin, the end and the step of a slice on each axis. */
type Bounds = readonly (readonly number[] | undefined)[];

/** The sizes that `StridedSlice` leaves, -1 for any; undefined where its bounds are no constants, or it adds axes. */
export function slicedShape(node: NodeDef, shape: readonly number[], bounds: Bounds): readonly number[] | undefined {
  const [begins, ends, steps] = bounds;
  const isPlain = integer(node, "ellipsis_mask") === 0 && integer(node, "new_axis_mask") === 0;
  if (!isPlain || begins === undefined || ends === undefined || steps === undefined) return undefined;
  const sizes = shape.map((size, axis) => {
    if (axis >= begins.length) return size;
    const begin = isSet(node, "begin_mask", axis) ? 0 : begins[axis]!;
    const end = isSet(node, "end_mask", axis) ? size : ends[axis]!;
    return size < 0 || steps[axis]! < 1 ? -1 : lengthOf(place(begin, size), place(end, size), steps[axis]!);
  });
  return sizes.filter((_, axis) => !isSet(node, "shrink_axis_mask", axis));
}

function lengthOf(begin: number, end: number, step: number): number {
  return Math.max(0, Math.ceil((end - begin) / step));
}

/** A bound within an axis, by a number that counts from the end where it is negative. */
function place(bound: number, size: number): number {
  return Math.min(Math.max(bound < 0 ? bound + size : bound, 0), size);
}

function isSet(node: NodeDef, name: string, axis: number): boolean {
  return axis < 31 && ((integer(node, name) >> axis) & 1) === 1;
}
