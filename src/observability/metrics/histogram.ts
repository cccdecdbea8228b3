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

/** Numbers that a histogram takes: a count for each range, and the sum. */
const NUMBERS = SECONDS_BOUNDS.length + 2;
const SUM = NUMBERS - 1;

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

  /** True if it has counted nothing. */
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

/**
 * Histograms of times that one thread fills and others read, in memory that they
 * share: a thread that hangs or has ended is read too.
 */
export class SharedHistograms {
  /** To be passed to the thread that fills them. */
  readonly memory: SharedArrayBuffer;
  readonly #values: Float64Array<SharedArrayBuffer>;

  /** So many empty ones, or those of a thread that was given their {@link memory}. */
  constructor(source: number | SharedArrayBuffer) {
    const isCount = typeof source === "number";
    this.memory = isCount ? new SharedArrayBuffer(source * NUMBERS * Float64Array.BYTES_PER_ELEMENT) : source;
    this.#values = new Float64Array(this.memory);
  }

  /** Counts a time in one of them. */
  observe(index: number, seconds: number): void {
    const values = this.#values;
    const start = index * NUMBERS;
    let range = 0;
    while (range < SECONDS_BOUNDS.length && seconds > SECONDS_BOUNDS[range]!) range++;
    values[start + range]! += 1;
    values[start + SUM]! += seconds;
  }

  /** One of them as it is now. */
  read(index: number): HistogramData {
    const start = index * NUMBERS;
    const values = Array.from(this.#values.subarray(start, start + NUMBERS), asAmount);
    return { counts: values.slice(0, SUM), sum: values[SUM]! };
  }
}

/** User code of the thread may have written anything. */
function asAmount(value: number): number {
  return Number.isFinite(value) && value > 0 ? value : 0;
}

/**
 * The value that a part of all counted values does not exceed, as Prometheus estimates it: values lie evenly in their
 * range. Undefined if nothing was counted; the highest bound for values above it.
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

/**
 * The smallest value of a sorted list that at least this share of it does not exceed;
 * undefined if the list is empty.
 */
export function percentile(sorted: Float64Array, share: number): number | undefined {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}
