import { ServingError } from "../../../errors.ts";
import { ClientAccounts } from "../client-account.ts";
import { OverloadManager } from "../overload-manager.ts";
import type { OtherThreads, ThreadCounts } from "../thread-counts.ts";
import { containerRoom } from "./container-room.ts";
import { MemoryShare } from "./memory-share.ts";
import { threadMemory } from "./thread-memory.ts";
import { markRarely } from "./young-garbage.ts";

/**
 * Size up to which requests are not refused because of images: one large image would exclude all other clients. As long
 * as all requests hold less than {@link SMALL_SHARE} of the budget, neither are those of a share of it.
 */
const SMALL_BYTES = 64 * 1024;
const SPARED_SHARE = 1 / 64;

/** Size from which requests make garbage that V8 should not mark whole heaps for. */
const LARGE_BYTES = 256 * 1024;

/**
 * Share that small requests may use beyond the budget, so that a few large requests, or answers that clients do not
 * read, do not exclude them.
 */
const SMALL_SHARE = 1 / 8;
const KIB = 1024;

/**
 * Memory that all requests of a server hold, over any transport: each body from its first byte on, its inflated form,
 * its inputs, its outputs, and its answer until that has been sent. Memory of threads counts too: decoded images,
 * copies of inputs. A single request is always admitted,
 * as long as the container has memory for it.
 */
export class MemoryBudget {
  /** Maximum number of bytes. */
  readonly maxBytes: number;
  /** Parts of it by the clients that hold them. */
  readonly clients = new ClientAccounts();
  /** Ends requests of clients that are too slow, or hold what others need. */
  readonly overload: OverloadManager;
  /** Size of the largest request that may use the share for small ones, in bytes. */
  readonly #smallBytes: number;
  readonly #removeLimit: () => void;
  readonly #shared: ThreadCounts | undefined;
  #heldBytes = 0;

  /**
   * `shared`: kilobytes that the other threads hold which take requests of the same server; absent = there are none.
   * `isFirst`: the one whose limit counts for the process.
   */
  constructor(maxBytes: number, shared?: ThreadCounts, isFirst = true) {
    this.maxBytes = maxBytes;
    this.#shared = shared;
    this.#removeLimit = isFirst ? threadMemory.addLimit(maxBytes) : () => {};
    this.#smallBytes = Math.min(SMALL_BYTES, maxBytes / 1024);
    this.overload = new OverloadManager(maxBytes, shared && this.#withOthers(shared));
  }

  #withOthers(shared: ThreadCounts): OtherThreads {
    const asked = () => {
      const { wished } = shared;
      const bytes = wished * KIB;
      if (bytes === 0 || this.heldBytes + bytes > this.maxBytes) return bytes;
      shared.endWish(wished);
      return 0;
    };
    return { threads: shared.threads, ask: (bytes) => shared.wish(Math.ceil(bytes / KIB)), asked };
  }

  /** Number of bytes held now. */
  get heldBytes(): number {
    return this.#shared === undefined ? this.#heldBytes : this.#heldBytes + this.#shared.others() * KIB;
  }

  /** True if half of the bytes are held. */
  get isHalfFull(): boolean {
    return this.heldBytes >= this.maxBytes / 2;
  }

  /** The share of a new request, which holds nothing yet but what another thread counts of it. */
  open(countedBytes = 0, client = ""): MemoryShare {
    const share = new MemoryShare(this, this.clients.of(client), countedBytes);
    this.overload.add(share);
    return share;
  }

  /**
   * Throws `unavailable` unless a request with `ownBytes` could get `bytes` more now. For its `share`, others are ended
   * that hold more than theirs.
   */
  check(bytes: number, ownBytes: number, share: MemoryShare): void {
    for (;;) {
      const problem = this.#problem(bytes, ownBytes);
      if (problem === undefined) return;
      if (!this.overload.makeRoom(bytes, share)) throw problem();
    }
  }

  /** Checks if a request with `ownBytes` could get `bytes` more without an end of others. */
  hasRoom(bytes: number, ownBytes: number): boolean {
    return this.#problem(bytes, ownBytes) === undefined;
  }

  /** Throws `unavailable` if so many bytes more would not fit if all were ended that may be. */
  checkAnnounced(bytes: number, ownBytes: number): void {
    const problem = this.#problem(bytes, ownBytes);
    if (problem !== undefined && this.#problem(bytes, ownBytes, this.overload.waitingBytes()) !== undefined)
      throw problem();
  }

  /** Makes the reason for which so many bytes do not fit; undefined if they do. */
  #problem(bytes: number, ownBytes: number, freeableBytes = 0): (() => ServingError) | undefined {
    const totalBytes = ownBytes + bytes;
    if (totalBytes > SMALL_BYTES && !containerRoom.has(bytes - freeableBytes))
      return () => noRoom(containerRoom.freeBytes);
    const held = this.heldBytes - freeableBytes;
    // Other threads tell whole kilobytes.
    const isAlone = this.#shared === undefined ? held <= ownBytes : held - ownBytes < KIB;
    if (isAlone) return undefined;
    const limitBytes = totalBytes <= this.#smallBytes ? this.maxBytes * (1 + SMALL_SHARE) : this.maxBytes;
    const isSmall =
      totalBytes <= SMALL_BYTES ||
      (totalBytes <= this.maxBytes * SPARED_SHARE && held + bytes <= this.maxBytes * SMALL_SHARE);
    if (held + bytes <= limitBytes && (isSmall || threadMemory.hasRoom(bytes - freeableBytes))) return undefined;
    return () => this.#full(held + (isSmall ? 0 : threadMemory.heldBytes));
  }

  #full(heldBytes: number): ServingError {
    return new ServingError(
      "unavailable",
      `The requests under way hold ${heldBytes} bytes (--max-queue-bytes ${this.maxBytes}); try again later.`,
    );
  }

  /** Looks at a part of a share too, as at whole ones; for {@link MemoryShare}. */
  watch(share: MemoryShare): void {
    this.overload.add(share);
  }

  /** As {@link OverloadManager.endHeldPlace}; for {@link MemoryShare}. */
  endHeldPlace(share: MemoryShare): void {
    this.overload.endHeldPlace(share);
  }

  /** Ends the count of a share; for {@link MemoryShare}. */
  delete(share: MemoryShare): void {
    this.overload.delete(share);
  }

  /** Subtracts its limit from that of all threads; for a server that has ended. */
  close(): void {
    this.overload.close();
    this.#removeLimit();
  }

  /** Adds bytes, or subtracts negative ones; for {@link MemoryShare}. */
  add(bytes: number): void {
    this.#heldBytes += bytes;
    if (this.#heldBytes >= LARGE_BYTES) markRarely();
    threadMemory.addRequestBytes(bytes);
    this.#shared?.set(Math.ceil(this.#heldBytes / KIB));
  }
}

function noRoom(freeBytes: number): ServingError {
  return new ServingError(
    "unavailable",
    `The server's container has ${freeBytes} bytes of free memory, too little for this request; try again later.`,
  );
}
