/** Two shapes of one tensor, with equally many elements; -1 is any size. The n-th open size of both is the same. */
export interface Reshape {
  readonly from: readonly number[];
  readonly to: readonly number[];
}

/** The sizes of a tensor in its other shape. */
export function reshapeSizes(sizes: readonly number[], { from, to }: Reshape): number[] {
  const open = sizes.filter((_, axis) => from[axis] === -1);
  return to.map((size) => (size === -1 ? (open.shift() as number) : size));
}

/** Checks that both shapes have the same open sizes, and equally many elements between these. */
export function isReshape({ from, to }: Reshape): boolean {
  const [before, after] = [elementsBetweenOpen(from), elementsBetweenOpen(to)];
  return before.length === after.length && before.every((count, index) => count === after[index]);
}

/** The elements before, between and after the open sizes. */
function elementsBetweenOpen(shape: readonly number[]): number[] {
  const counts = [1];
  for (const size of shape) {
    if (size === -1) counts.push(1);
    else counts.push((counts.pop() as number) * size);
  }
  return counts;
}
