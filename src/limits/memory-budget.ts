import { ServingError } from "../errors.ts";
import { threadMemory } from "./thread-memory.ts";

/** Requests of so few bytes are not refused on account of images: one large image would shut everybody else out. */
const SMALL_BYTES = 64 * 1024;

/** The part that small requests may have beyond the budget, so that a few large ones, or answers that their clients do not take, do not keep them out. */
const SMALL_SHARE = 1 / 8;

/**
 * Bytes that all requests of a server hold together, whatever wire they come over: each one's body from its first byte on,
 * what that is inflated to, its inputs, its outputs, and its answer until that has been sent. What threads hold counts too:
 * decoded images, copies of inputs. One request alone is always let in.
 */
export class MemoryBudget {
  /** Bytes that may be held. */
  readonly maxBytes: number;
  /** Largest request, in bytes, that may use the part kept free for small ones. */
  readonly #smallBytes: number;
  readonly #removeLimit: () => void;
  #heldBytes = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
    this.#removeLimit = threadMemory.addLimit(maxBytes);
    this.#smallBytes = Math.min(SMALL_BYTES, maxBytes / 1024);
  }

  /** Bytes that are held now. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** True where half of the bytes are held. */
  get isHalfFull(): boolean {
    return this.#heldBytes >= this.maxBytes / 2;
  }

  /** The share of a new request, which holds nothing yet. */
  open(): MemoryShare {
    return new MemoryShare(this);
  }

  /** Throws `unavailable` unless a request that has `ownBytes` could have `bytes` more now. */
  check(bytes: number, ownBytes: number): void {
    const isAlone = this.#heldBytes === ownBytes;
    if (isAlone) return;
    const totalBytes = ownBytes + bytes;
    const limitBytes = totalBytes <= this.#smallBytes ? this.maxBytes * (1 + SMALL_SHARE) : this.maxBytes;
    const isSmall = totalBytes <= SMALL_BYTES;
    if (this.#heldBytes + bytes <= limitBytes && (isSmall || threadMemory.hasRoom(bytes))) return;
    const heldBytes = this.#heldBytes + (isSmall ? 0 : threadMemory.heldBytes);
    throw new ServingError(
      "unavailable",
      `The requests under way hold ${heldBytes} bytes (--max-queue-bytes ${this.maxBytes}); try again later.`,
    );
  }

  /** Takes its limit from that of all threads; for a server that has ended. */
  close(): void {
    this.#removeLimit();
  }

  /** Counts bytes in, or out if they are negative; for {@link MemoryShare}. */
  add(bytes: number): void {
    this.#heldBytes += bytes;
    threadMemory.addRequestBytes(bytes);
  }
}

/** One request's part of a {@link MemoryBudget}. */
export class MemoryShare {
  /**
   * True where the tensors of the request and of its answer belong to the transport alone once there is an answer; set
   * by the code that ran the request. Hooks of this thread may have kept them.
   */
  isWireOnly = false;
  readonly #budget: MemoryBudget;
  #bytes = 0;
  #isReleased = false;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  /** Bytes that it holds. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Throws `unavailable` unless there is room for `bytes` more now; takes nothing. */
  check(bytes: number): void {
    this.#budget.check(bytes, this.#bytes);
  }

  /** Takes `bytes` more; throws `unavailable` where the others leave no room, `cancelled` once it was released. */
  grow(bytes: number): void {
    if (this.#isReleased) throw new ServingError("cancelled", "The request is over.");
    this.#budget.check(bytes, this.#bytes);
    this.#budget.add(bytes);
    this.#bytes += bytes;
  }

  /** Takes what is missing to `bytes`. */
  growTo(bytes: number): void {
    if (bytes > this.#bytes) this.grow(bytes - this.#bytes);
  }

  /** Takes what is missing to `bytes`, or gives back what is above. */
  setTo(bytes: number): void {
    if (bytes > this.#bytes) this.grow(bytes - this.#bytes);
    else this.shrink(this.#bytes - bytes);
  }

  /** Gives `bytes` back. */
  shrink(bytes: number): void {
    const given = Math.min(bytes, this.#bytes);
    this.#budget.add(-given);
    this.#bytes -= given;
  }

  /** A share of its own for `bytes` of these. */
  split(bytes: number): MemoryShare {
    const part = this.#budget.open();
    part.#bytes = Math.min(bytes, this.#bytes);
    this.#bytes -= part.#bytes;
    return part;
  }

  /** Gives everything back. */
  empty(): void {
    this.#budget.add(-this.#bytes);
    this.#bytes = 0;
  }

  /** Gives everything back, for good. */
  release(): void {
    this.empty();
    this.#isReleased = true;
  }
}
