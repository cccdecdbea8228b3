/**
 * The smallest value of a sorted list that at least this share of it does not exceed;
 * undefined where the list is empty.
 */
export function percentile(sorted: Float64Array, share: number): number | undefined {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}
