import type { ServingError } from "../../../errors.ts";
import type { Transfer } from "../overload-manager.ts";
import { MAX_PREALLOCATED_BYTES } from "./byte-list.ts";
import type { MemoryShare } from "./memory-share.ts";

/** Bytes that are reserved beyond those which have come: one step for many small pieces. */
const AHEAD_BYTES = 64 * 1024;

/**
 * Counts the bytes of one message as they arrive: what its client announces holds nothing before it has come. Until
 * {@link done}, the message may be ended for others that need its memory, or for its client's slowness.
 */
export class MessageArrival implements Transfer {
  /** False while the server does not read on. */
  isClientsTurn = true;
  readonly stepBytes = 0;
  readonly #memory: MemoryShare;
  readonly #end: (error: ServingError) => void;
  #announcedBytes = 0;
  #arrivedBytes = 0;
  #countedBytes = 0;

  /** `end`: ends the request with an error; default: there is nothing to be ended. */
  constructor(memory: MemoryShare, end: (error: ServingError) => void = () => {}) {
    this.#memory = memory;
    this.#end = end;
    memory.receiving = this;
  }

  get movedBytes(): number {
    return this.#arrivedBytes;
  }

  /** As many as have come if no length is announced, and at least a piece. */
  get leftBytes(): number {
    const left = this.#announcedBytes - this.#arrivedBytes;
    return left > 0 ? left : Math.max(this.#arrivedBytes, AHEAD_BYTES);
  }

  /** Sets the length that the client announces. */
  announce(bytes: number): void {
    this.#announcedBytes = bytes;
  }

  /** Counts arrived bytes; throws `unavailable` if there is no room for them. */
  add(bytes: number): void {
    this.#arrivedBytes += bytes;
    if (this.#arrivedBytes <= this.#countedBytes) return;
    const aheadBytes = this.#arrivedBytes < MAX_PREALLOCATED_BYTES ? 0 : AHEAD_BYTES;
    const needed = Math.max(this.#arrivedBytes, Math.min(this.#arrivedBytes + aheadBytes, this.#announcedBytes));
    this.#memory.grow(needed - this.#countedBytes);
    this.#countedBytes = needed;
  }

  /** Bytes that it has reserved. */
  get countedBytes(): number {
    return this.#countedBytes;
  }

  /** Ends the wait for the client: the message is there, or given up. */
  done(): void {
    if (this.#memory.receiving === this) this.#memory.receiving = undefined;
  }

  end(error: ServingError): void {
    this.#end(error);
  }
}
