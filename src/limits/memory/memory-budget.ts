import { ServingError } from "../../errors.ts";
import { type ClientAccount, ClientAccounts } from "../client-account.ts";
import type { ThreadCounts } from "../thread-counts.ts";
import { containerRoom } from "./container-room.ts";
import { threadMemory } from "./thread-memory.ts";
import { markRarely } from "./young-garbage.ts";

/** Size up to which requests are not refused because of images: one large image would exclude all other clients. */
const SMALL_BYTES = 64 * 1024;

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
  }

  /** Number of bytes held now. */
  get heldBytes(): number {
    return this.#shared === undefined ? this.#heldBytes : this.#heldBytes + this.#shared.others() * KIB;
  }

  /** True where half of the bytes are held. */
  get isHalfFull(): boolean {
    return this.heldBytes >= this.maxBytes / 2;
  }

  /** The share of a new request, which holds nothing yet but what another thread counts of it. */
  open(countedBytes = 0, client = ""): MemoryShare {
    return new MemoryShare(this, this.clients.of(client), countedBytes);
  }

  /** Throws `unavailable` unless a request with `ownBytes` could get `bytes` more now. */
  check(bytes: number, ownBytes: number): void {
    const totalBytes = ownBytes + bytes;
    if (totalBytes > SMALL_BYTES && !containerRoom.has(bytes)) throw noRoom(containerRoom.freeBytes);
    const held = this.heldBytes;
    // Other threads tell whole kilobytes.
    const isAlone = this.#shared === undefined ? held === ownBytes : held - ownBytes < KIB;
    if (isAlone) return;
    const limitBytes = totalBytes <= this.#smallBytes ? this.maxBytes * (1 + SMALL_SHARE) : this.maxBytes;
    const isSmall = totalBytes <= SMALL_BYTES;
    if (held + bytes <= limitBytes && (isSmall || threadMemory.hasRoom(bytes))) return;
    const heldBytes = held + (isSmall ? 0 : threadMemory.heldBytes);
    throw new ServingError(
      "unavailable",
      `The requests under way hold ${heldBytes} bytes (--max-queue-bytes ${this.maxBytes}); try again later.`,
    );
  }

  /** Subtracts its limit from that of all threads; for a server that has ended. */
  close(): void {
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

/** One request's part of a {@link MemoryBudget}. */
export class MemoryShare {
  /**
   * True where only the transport uses the tensors of the request and of its answer once there is an answer; set by the
   * code that ran the request. Otherwise hooks of this thread may have kept them.
   */
  isWireOnly = false;
  readonly #budget: MemoryBudget;
  #client: ClientAccount;
  /** Bytes that another thread counts. */
  readonly #countedBytes: number;
  #bytes: number;
  #isReleased = false;

  constructor(budget: MemoryBudget, client: ClientAccount, countedBytes = 0) {
    this.#budget = budget;
    this.#client = client;
    client.requests++;
    this.#countedBytes = countedBytes;
    this.#bytes = countedBytes;
  }

  /** Number of bytes that it holds. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The account of the client that sent the request; one for all where no client is known. */
  get client(): ClientAccount {
    return this.#client;
  }

  /** Moves all that it holds to the account of its client, once that is known. */
  belongTo(key: string): void {
    const client = this.#budget.clients.of(key);
    if (this.#isReleased || client === this.#client) return;
    this.#client.requests--;
    this.#client.bytes -= this.#ownBytes;
    client.requests++;
    client.bytes += this.#ownBytes;
    this.#client = client;
  }

  /** Throws `unavailable` unless there is room for `bytes` more now; reserves nothing. */
  check(bytes: number): void {
    this.#budget.check(bytes, this.#bytes);
  }

  /** Reserves `bytes` more; throws `unavailable` where there is no room, `cancelled` once it was released. */
  grow(bytes: number): void {
    if (this.#isReleased) throw new ServingError("cancelled", "The request is over.");
    this.#budget.check(bytes, this.#bytes);
    this.#add(bytes);
  }

  /** Grows to `bytes`, if it is smaller. */
  growTo(bytes: number): void {
    if (bytes > this.#bytes) this.grow(bytes - this.#bytes);
  }

  /** Grows or shrinks to `bytes`. */
  setTo(bytes: number): void {
    if (bytes > this.#bytes) this.grow(bytes - this.#bytes);
    else this.shrink(this.#bytes - bytes);
  }

  /** Releases `bytes`. */
  shrink(bytes: number): void {
    this.#add(-Math.min(bytes, this.#ownBytes));
  }

  /** Moves `bytes` of this share to a new share. */
  split(bytes: number): MemoryShare {
    const part = new MemoryShare(this.#budget, this.#client);
    part.#bytes = Math.min(bytes, this.#ownBytes);
    this.#bytes -= part.#bytes;
    return part;
  }

  /** Releases all bytes. */
  empty(): void {
    this.#add(-this.#ownBytes);
  }

  /** Releases all bytes, for good. */
  release(): void {
    if (this.#isReleased) return;
    this.empty();
    this.#client.requests--;
    this.#isReleased = true;
  }

  #add(bytes: number): void {
    this.#budget.add(bytes);
    this.#client.bytes += bytes;
    this.#bytes += bytes;
  }

  get #ownBytes(): number {
    return this.#bytes - this.#countedBytes;
  }
}
