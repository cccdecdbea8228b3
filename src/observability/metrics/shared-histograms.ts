import { type HistogramData, SECONDS_BOUNDS } from "./histogram.ts";

/** Numbers that a histogram takes: a count for each range, and the sum. */
const NUMBERS = SECONDS_BOUNDS.length + 2;
const SUM = NUMBERS - 1;

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
