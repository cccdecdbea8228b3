import { maxAsyncCalls } from "./max-async-calls.ts";

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

  /** Counts a call, for {@link end}, and returns true where there is room for it. */
  tryBegin(): boolean {
    if (Atomics.add(this.#count, 0, 1) < this.#limit) return true;
    this.end();
    return false;
  }

  end(): void {
    Atomics.sub(this.#count, 0, 1);
  }
}
