import { elementCount } from "./tensor.ts";

/** Lists that a tensor may have for each of its values, and in addition, as nested lists. */
const LISTS_PER_VALUE = 8;
const MAX_SPARE_LISTS = 1 << 20;

/** Lists of a nested list of this shape; those without elements count too. */
export function listCount(shape: readonly number[]): number {
  let [lists, count] = [1, 1];
  for (const size of shape.slice(0, -1)) {
    count *= size;
    lists += count;
  }
  return lists;
}

/**
 * Checks if a tensor has far more lists than values as nested lists: shapes such as [2147483647, 0] cost their sender
 * nothing, but their text would fill the memory.
 */
export function hasTooManyLists(shape: readonly number[]): boolean {
  return listCount(shape) > LISTS_PER_VALUE * elementCount(shape) + MAX_SPARE_LISTS;
}
