import { processors } from "../machine/container.ts";

/**
 * Counts the long calls that all threads of the process have in libuv's pool, which
 * must not keep files, DNS and images waiting.
 */
export class PoolCalls {
  readonly #count: Int32Array;
  readonly #limit: number;

  /** `memory` is what the threads share; absent = this one counts alone. */
  constructor(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT), limit = maxAsyncCalls()) {
    this.#count = new Int32Array(memory);
    this.#limit = limit;
  }

  /** Counts a call, for {@link end}, and returns true if there is room for it. */
  tryBegin(): boolean {
    if (Atomics.add(this.#count, 0, 1) < this.#limit) return true;
    this.end();
    return false;
  }

  end(): void {
    Atomics.sub(this.#count, 0, 1);
  }
}

/** Default number of threads in libuv's pool, without UV_THREADPOOL_SIZE. */
const DEFAULT_POOL_SIZE = 4;

/** Maximum number of long calls in libuv's pool: one per core, and at most one per thread of the pool. */
export function maxAsyncCalls(): number {
  const poolSize = Number(process.env.UV_THREADPOOL_SIZE) || DEFAULT_POOL_SIZE;
  return Math.max(1, Math.min(processors(), poolSize));
}

/** Runs in a row that have to be quick before the next one is trusted to be. */
const ENOUGH = 3;

/** Predicts from a model's earlier runs if the next one will be quick. */
export class QuickRuns {
  readonly #quickMs: number;
  #inARow = 0;
  #bytes = 0;

  /** `quickMs`: longest duration of a quick run, in milliseconds. */
  constructor(quickMs: number) {
    this.#quickMs = quickMs;
  }

  /** Predicts a quick run on this many bytes of inputs: at most as many as earlier quick runs had. */
  isQuick(bytes: number): boolean {
    return this.#inARow >= ENOUGH && bytes <= this.#bytes;
  }

  /** Takes note of a run. */
  note(bytes: number, ms: number): void {
    if (ms > this.#quickMs) {
      this.#inARow = 0;
      return;
    }
    this.#bytes = this.#inARow === 0 ? bytes : Math.max(bytes, this.#bytes);
    this.#inARow++;
  }
}
