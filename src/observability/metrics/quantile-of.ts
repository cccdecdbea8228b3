/**
 * The value that a part of all counted values does not exceed, as Prometheus estimates it: values lie evenly in their
 * range. Undefined where nothing was counted; the highest bound for values above it.
 */
export function quantileOf(counts: readonly number[], bounds: readonly number[], part: number): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  const rank = part * total;
  let below = 0;
  for (const [range, count] of counts.entries()) {
    const high = bounds[range];
    if (high === undefined) break;
    if (count > 0 && below + count >= rank) {
      const low = bounds[range - 1] ?? 0;
      return low + ((high - low) * Math.max(0, rank - below)) / count;
    }
    below += count;
  }
  return bounds.at(-1);
}
