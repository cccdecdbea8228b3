import { MAX_PREALLOCATED_BYTES } from "./byte-list.ts";
import type { MemoryShare } from "./memory-budget.ts";

/**
 * Counts the bytes of one message as they arrive. Once a part has arrived, memory for the announced length is reserved,
 * or the message refused: otherwise many large messages at once would fill the memory before any of them is complete.
 */
export class MessageArrival {
  readonly #memory: MemoryShare;
  #announcedBytes = 0;
  #arrivedBytes = 0;
  #countedBytes = 0;

  constructor(memory: MemoryShare) {
    this.#memory = memory;
  }

  /** Sets the length that the client announces; throws as {@link add} where enough of it has arrived already. */
  announce(bytes: number): void {
    this.#announcedBytes = bytes;
    this.add(0);
  }

  /** Counts arrived bytes; throws `unavailable` where there is no room for them, or for those that will follow. */
  add(bytes: number): void {
    this.#arrivedBytes += bytes;
    const isBelieved = this.#arrivedBytes >= MAX_PREALLOCATED_BYTES;
    const needed = isBelieved ? Math.max(this.#arrivedBytes, this.#announcedBytes) : this.#arrivedBytes;
    if (needed <= this.#countedBytes) return;
    this.#memory.grow(needed - this.#countedBytes);
    this.#countedBytes = needed;
  }
}
