import { ServingError } from "../../../errors.ts";
import type { ClientAccount, ClientAccounts } from "../client-account.ts";
import { Holder } from "../overload-manager.ts";

/** The part of a budget that its shares use. */
interface SharedMemoryBudget {
  readonly clients: ClientAccounts;
  check(bytes: number, ownBytes: number, share: MemoryShare): void;
  hasRoom(bytes: number, ownBytes: number): boolean;
  checkAnnounced(bytes: number, ownBytes: number): void;
  add(bytes: number): void;
  watch(share: MemoryShare): void;
  delete(share: MemoryShare): void;
  endHeldPlace(share: MemoryShare): void;
}

/** One request's part of a memory budget. */
export class MemoryShare extends Holder {
  /**
   * True if only the transport uses the tensors of the request and of its answer once there is an answer; set by the
   * code that ran the request. Otherwise hooks of this thread may have kept them.
   */
  isWireOnly = false;
  /** Bytes of the part of an answer that is being written, as far as they are counted already. */
  partBytes = 0;
  readonly #budget: SharedMemoryBudget;
  #client: ClientAccount;
  /** Bytes that another thread counts. */
  readonly #countedBytes: number;
  #bytes: number;
  #whole: MemoryShare | undefined;
  #isOfRequest = false;
  #parts: Set<MemoryShare> | undefined;
  #isReleased = false;

  constructor(budget: SharedMemoryBudget, client: ClientAccount, countedBytes = 0) {
    super();
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

  /** The account of the client that sent the request; one for all if no client is known. */
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

  /** Number of bytes that it and its parts hold. */
  get totalBytes(): number {
    let bytes = this.#bytes;
    if (this.#parts !== undefined) for (const part of this.#parts) bytes += part.#bytes;
    return bytes;
  }

  /** Throws `unavailable` unless there is room for `bytes` more now; reserves nothing. */
  check(bytes: number): void {
    // A part that receives goes on as long as it does itself.
    const share = this.receiving === undefined ? (this.#whole ?? this) : this;
    this.#budget.check(bytes, this.#requestBytes, share);
  }

  /** Checks if there is room for `bytes` more now, though nothing is ended for it. */
  hasRoom(bytes: number): boolean {
    return this.#budget.hasRoom(bytes, this.#requestBytes);
  }

  /**
   * Throws `unavailable` unless there can be room for `bytes` more that a client announces; reserves nothing, since it
   * may never send them.
   */
  checkAnnounced(bytes: number): void {
    this.#budget.checkAnnounced(bytes, this.#requestBytes);
  }

  /** Reserves `bytes` more; throws `unavailable` if there is no room, `cancelled` once it was released. */
  grow(bytes: number): void {
    if (this.#isReleased) throw over();
    this.check(bytes);
    // Its room may have been made by its own end.
    if (this.#isReleased) throw over();
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

  /** Of the bytes that a part is sent as, those that are not counted as the part's own. */
  beyondPart(bytes: number): number {
    return Math.max(0, bytes - this.partBytes);
  }

  /** Releases `bytes`. */
  shrink(bytes: number): void {
    this.#add(-Math.min(bytes, this.#ownBytes));
  }

  /**
   * Moves `bytes` of this share to a new share, a part of it. `isOfRequest`: it is a part of the same request, and not
   * a request of its own in a stream, so that both together may be the only ones that hold any.
   */
  split(bytes: number, isOfRequest = false): MemoryShare {
    const part = new MemoryShare(this.#budget, this.#client);
    part.#whole = this;
    part.#isOfRequest = isOfRequest;
    this.#parts ??= new Set();
    this.#parts.add(part);
    part.#bytes = Math.min(bytes, this.#ownBytes);
    this.#bytes -= part.#bytes;
    return part;
  }

  /** Lets a part be ended by itself, for what it receives. */
  watch(): void {
    if (!this.#isReleased) this.#budget.watch(this);
  }

  /** Ends the request, or the stream that it is a part of, if its client is slow: others wait for its place. */
  endHeldPlace(): void {
    this.#budget.endHeldPlace(this.#whole ?? this);
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
    this.#budget.delete(this);
    if (this.#whole !== undefined) this.#whole.#parts?.delete(this);
  }

  /** Releases it with all its parts: its request has been ended. */
  releaseAll(): void {
    for (const part of this.#parts ?? []) part.release();
    this.release();
  }

  #add(bytes: number): void {
    this.#budget.add(bytes);
    this.#client.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Bytes of the request that it belongs to. */
  get #requestBytes(): number {
    if (this.#isOfRequest && this.#whole !== undefined) return this.#whole.#requestBytes;
    if (this.#parts === undefined) return this.#bytes;
    let bytes = this.#bytes;
    for (const part of this.#parts) if (part.#isOfRequest) bytes += part.#bytes;
    return bytes;
  }

  get #ownBytes(): number {
    return this.#bytes - this.#countedBytes;
  }
}

function over(): ServingError {
  return new ServingError("cancelled", "The request is over.");
}
