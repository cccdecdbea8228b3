/** Bytes of text that cost no more as padding than a run by itself: of MiniLM on a processor, ten tokens. */
const PADDED_BYTES = 48;
const PADDED_SHARE = 1 / 8;

/** Checks that padding rows of one length to another costs less than a run that is saved. */
export function areLikeLengths(shortest: number, longest: number): boolean {
  return longest - shortest <= Math.max(PADDED_BYTES, longest * PADDED_SHARE);
}

/** Rows that wait for a run, each as long as the longest. */
interface WaitingRows {
  readonly rows: number;
  readonly length: number;
}

/** The limits of a run, and what it costs. */
interface RunLimits {
  /** Rows at most, unless one request alone has more. */
  readonly maxRows: number;
  /** Cost of a run besides its rows, as bytes of text. */
  readonly runBytes: number;
}

/**
 * The shortest and the longest of the rows that run together with `first`, one of them, in the cheapest way to run them
 * all: rows are padded to the longest one of a run, and each run has a cost besides.
 */
export function lengthsBeside<Rows extends WaitingRows>(
  first: Rows,
  all: readonly Rows[],
  { maxRows, runBytes }: RunLimits,
): readonly [shortest: number, longest: number] {
  const sorted = all.toSorted((one, other) => one.length - other.length);
  /** Of the rows before each place. */
  const costs = [0];
  const starts = [0];
  for (let end = 1; end <= sorted.length; end++) {
    const { length } = sorted[end - 1]!;
    const own = Math.max(runBytes, length * PADDED_SHARE);
    let [least, from] = [Number.POSITIVE_INFINITY, end - 1];
    let rows = 0;
    for (let start = end - 1; start >= 0; start--) {
      rows += sorted[start]!.rows;
      if (rows > maxRows && start < end - 1) break;
      const cost = costs[start]! + own + rows * length;
      if (cost < least) [least, from] = [cost, start];
    }
    costs.push(least);
    starts.push(from);
  }
  const place = sorted.indexOf(first);
  let end = sorted.length;
  while (starts[end]! > place) end = starts[end]!;
  return [sorted[starts[end]!]!.length, sorted[end - 1]!.length];
}

/** Cost of a run on a processor, with all that is done around it: of MiniLM 50 to 150 bytes. */
const RUN_BYTES = 120;
/** Runs that count, of which the latest count most. */
const REMEMBERED = 1024;
/** Runs before which nothing is known. */
const ENOUGH = 32;
/** Variance of the sizes of runs, by the square of their mean, below which they say nothing. */
const LEAST_SPREAD = 0.05;
/** Cost of a run from which on padding is as good as free. */
const FREE_BYTES = 1024;
const MOST_BYTES = 1024 * 1024;

/**
 * Cost of a model's runs besides their rows, as bytes of text: little on a processor, and more than all rows on a GPU.
 * Which of both it is, a straight line through the times of its runs by their sizes says. Where a busy processor makes
 * runs slow, the line is no better than that.
 */
export class RunCost {
  #count = 0;
  #weight = 0;
  /** Means of 1 / bytes, of milliseconds / bytes, and of what these vary, alone and together. */
  #size = 0;
  #time = 0;
  #spread = 0;
  #both = 0;

  get bytes(): number {
    if (this.#count < ENOUGH || this.#spread < LEAST_SPREAD * this.#size ** 2) return RUN_BYTES;
    const ofRun = this.#both / this.#spread;
    const ofByte = this.#time - ofRun * this.#size;
    const isFree = ofRun > FREE_BYTES * ofByte;
    return isFree ? Math.min(MOST_BYTES, ofRun / Math.max(ofByte, Number.MIN_VALUE)) : RUN_BYTES;
  }

  /** Takes note of a run of rows with so many bytes, padding included. */
  note(bytes: number, ms: number): void {
    if (!(bytes > 0)) return;
    this.#count++;
    this.#weight = Math.min(REMEMBERED, this.#weight + 1);
    const [size, time] = [1 / bytes - this.#size, ms / bytes - this.#time];
    const share = 1 / this.#weight;
    this.#size += share * size;
    this.#time += share * time;
    this.#spread += share * ((1 - share) * size * size - this.#spread);
    this.#both += share * ((1 - share) * size * time - this.#both);
  }
}
