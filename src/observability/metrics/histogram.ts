/** Counts of values by ranges with their sum, as plain data that crosses threads. */
export interface HistogramData {
  /** Values up to each bound and above the one before; the last count is of those above all bounds. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Upper ends of the ranges of times, in seconds: from an echo's to those of a large model's first request. */
export const SECONDS_BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

/** Counts values by ranges. */
export class Histogram implements HistogramData {
  readonly counts: number[];
  sum = 0;
  readonly #bounds: readonly number[];

  /** `bounds`: upper ends of the ranges, which belong to them, rising. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  /** True where it has counted nothing. */
  get isEmpty(): boolean {
    return this.counts.every((count) => count === 0);
  }

  /** Counts one value, or several of the same size. */
  observe(value: number, times = 1): void {
    this.sum += value * times;
    const bounds = this.#bounds;
    let range = 0;
    while (range < bounds.length && value > bounds[range]!) range++;
    this.counts[range]! += times;
  }

  /** Adds what another one of the same bounds has counted. */
  add({ counts, sum }: HistogramData): void {
    this.sum += sum;
    for (const [range, count] of counts.entries()) this.counts[range]! += count;
  }
}

/**
 * The values of several histograms of the same bounds together. The sum of none has no
 * ranges, and adds nothing to others.
 */
export function sumHistograms(parts: readonly HistogramData[]): HistogramData {
  const ranges = Math.max(0, ...parts.map(({ counts }) => counts.length));
  const countOf = (range: number) => parts.reduce((sum, { counts }) => sum + (counts[range] ?? 0), 0);
  const counts = Array.from({ length: ranges }, (_, range) => countOf(range));
  return { counts, sum: parts.reduce((sum, part) => sum + part.sum, 0) };
}
