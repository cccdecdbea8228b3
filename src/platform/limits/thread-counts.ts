/** The cell of the sum that {@link ThreadCounts.enter} keeps; each thread's own follow. */
const SUM = 0;
/** The cells of what a thread wishes for, and of the second of the process's clock in which it did. */
const [WISHED, WISHED_AT] = [1, 2];
const FIRST = 3;
/** Seconds for which a wish counts: whose it was has been refused. */
const WISH_SECONDS = 3;

/**
 * A number that several threads count together, in memory that they share. Each has its own cell, so that what a
 * thread counted can be taken away when it ends.
 */
export class ThreadCounts {
  readonly #cells: Int32Array<SharedArrayBuffer>;
  readonly #own: number;

  /** `own`: the number of this thread, from 0 on. */
  constructor(memory: SharedArrayBuffer, own: number) {
    this.#cells = new Int32Array(memory);
    this.#own = FIRST + own;
  }

  /** Memory for so many threads. */
  static memoryFor(threads: number): SharedArrayBuffer {
    return new SharedArrayBuffer((FIRST + threads) * Int32Array.BYTES_PER_ELEMENT);
  }

  /** Number of threads. */
  get threads(): number {
    return this.#cells.length - FIRST;
  }

  /** The number that a thread wished for of late; 0 = none did. */
  get wished(): number {
    const isRecent = seconds() - Atomics.load(this.#cells, WISHED_AT) <= WISH_SECONDS;
    return isRecent ? Atomics.load(this.#cells, WISHED) : 0;
  }

  /** Tells all threads of a number that this one wishes for. */
  wish(count: number): void {
    Atomics.store(this.#cells, WISHED, count);
    Atomics.store(this.#cells, WISHED_AT, seconds());
  }

  /** Ends a wish that has come true. */
  endWish(count: number): void {
    Atomics.compareExchange(this.#cells, WISHED, count, 0);
  }

  /** Sets this thread's number; the sum of {@link enter} stays as it is. */
  set(count: number): void {
    Atomics.store(this.#cells, this.#own, count);
  }

  /** The numbers of the other threads together. */
  others(): number {
    let sum = 0;
    for (let at = FIRST; at < this.#cells.length; at++) if (at !== this.#own) sum += Atomics.load(this.#cells, at);
    return sum;
  }

  /** Counts one more, unless there are `max` in all threads together; gives their number. */
  enter(max: number): { readonly isIn: boolean; readonly count: number } {
    const before = Atomics.add(this.#cells, SUM, 1);
    if (before < max) {
      Atomics.add(this.#cells, this.#own, 1);
      return { isIn: true, count: before + 1 };
    }
    Atomics.sub(this.#cells, SUM, 1);
    return { isIn: false, count: before };
  }

  /** Counts one less. */
  leave(): void {
    Atomics.sub(this.#cells, this.#own, 1);
    Atomics.sub(this.#cells, SUM, 1);
  }

  /**
   * Takes away what a thread counted that has ended, and gives that number; the sum of {@link enter} stays as it is.
   */
  take(thread: number): number {
    return Atomics.exchange(this.#cells, FIRST + thread, 0);
  }

  /** As {@link take}, for what was counted by {@link enter}. */
  forget(thread: number): void {
    Atomics.sub(this.#cells, SUM, this.take(thread));
  }
}

/** Threads that take requests of the same clients, whose connections are spread among them. */
export interface OtherThreads {
  /** Number of all of them, with this one. */
  readonly threads: number;
  /** Asks them to end requests that hold more than their share, until they have given so many bytes. */
  ask(bytes: number): void;
  /** Bytes that a thread asks for and for which there is no room; 0 = none does. */
  asked(): number;
}

/** The same clock for all threads. */
function seconds(): number {
  return Math.floor(process.uptime());
}
