import { ServingError } from "../../errors.ts";
import { ListMember, MemberList } from "../async/member-list.ts";
import { ClientAccount } from "./client-account.ts";
import { type EndedRequest, type EndReason, endedRequests } from "./ended-requests.ts";
import { SERVER_DEFAULTS } from "./settings/server-settings.ts";
import type { OtherThreads } from "./thread-counts.ts";

/** A message that goes from a client or to it, at the client's speed. */
export interface Transfer {
  /** Bytes that have gone. */
  readonly movedBytes: number;
  /** Bytes that are still to go, as far as that is known. */
  readonly leftBytes: number;
  /** Bytes of which the transport learns together that they have gone. */
  readonly stepBytes: number;
  /** False while the client is not waited for, such as when nothing is there for it. */
  readonly isClientsTurn: boolean;
  /** True for what comes from a server behind this one, in the place of a client. */
  readonly isFromBackend?: boolean;
  /** Ends the request or stream with an error, in its protocol's form. */
  end(error: ServingError): void;
}

/** Speed of a transfer, as it is looked at now and then. */
export interface Pace {
  readonly transfer: Transfer;
  /** Time and bytes at the beginning of the span in which the minimum has to be reached. */
  sinceMs: number;
  sinceBytes: number;
  /** Time and bytes at the last look. */
  lastMs: number;
  lastBytes: number;
  /** Between the last two looks, and between those before. */
  bytesPerSecond: number;
  formerBytesPerSecond: number;
  /** True once these have been measured. */
  isKnown: boolean;
}

/** A request with what it holds, and its way to or from its client. */
export abstract class Holder extends ListMember {
  /** The message that its client is sending; undefined = none. */
  receiving: Transfer | undefined = undefined;
  /** The answer that its client is taking; undefined = none. */
  sending: Transfer | undefined = undefined;
  /** Speed of its transfer, for {@link OverloadManager} alone. */
  pace: Pace | undefined = undefined;
  /** Looks that found its answer not taken, less twice the others; for {@link OverloadManager} alone. */
  awaited = 0;
  abstract readonly client: ClientAccount;
  /** Memory that it holds with all its parts, in bytes. */
  abstract readonly totalBytes: number;
  /** Releases all that it holds: its request has been ended. */
  abstract releaseAll(): void;
}

/** Rules of an {@link OverloadManager}. */
export interface OverloadRules {
  /** Bytes per second that a client sends or takes at least, while it is waited for; 0 = no minimum. */
  readonly minClientRate: number;
  /** Time over which that is measured, in milliseconds. */
  readonly spanMs?: number;
  /** Is told of each request that is ended. */
  readonly onEnded?: (request: EndedRequest) => void;
}

/** Time over which a client's rate has to reach the minimum, in milliseconds. */
const SPAN_MS = 30_000;
/** Looks at all transfers in that time, and transfers that are looked at in one turn of the event loop. */
const [LOOKS, LOOKED_AT_TOGETHER] = [30, 512];
/** Speed of a transfer of which none is known yet, in bytes per second. */
const PRESUMED_RATE = 1024 * 1024;
/** Time for which a client that found no room does not look for any again: looking takes a while with many requests. */
const FUTILE_MS = 50;
/** Seconds for which a transfer may go on before it makes room for others of the same client. */
const SOON_SECONDS = 10;

/**
 * Ends requests of clients that send or take less than a minimum over time, and, if there is no room for another
 * request, those that hold most with the least progress beyond their client's fair share. A request is ended only while
 * its client is waited for: what runs is not. So are those that hold a place for which others wait.
 */
export class OverloadManager {
  /** Memory that the requests of this thread may hold together, if all threads have as much. */
  readonly #maxBytes: number;
  readonly #others: OtherThreads | undefined;
  readonly #shares = new MemberList<Holder>();
  #rules: OverloadRules = { minClientRate: SERVER_DEFAULTS.minClientRate };
  #timer: NodeJS.Timeout | undefined;
  /** Times until which clients find no room, on the clock of performance.now(). */
  readonly #futileUntil = new WeakMap<ClientAccount, number>();

  /** `maxBytes`: memory that all requests may hold together, those of other threads included. */
  constructor(maxBytes: number, others?: OtherThreads) {
    this.#maxBytes = maxBytes / (others?.threads ?? 1);
    this.#others = others;
  }

  /** Sets the rules. */
  configure(rules: OverloadRules): void {
    this.#rules = rules;
  }

  /** Adds a request until it is released; for its holder. */
  add(share: Holder): void {
    this.#shares.add(share);
    this.#timer ??= this.#wait();
  }

  /** Takes out a request. */
  delete(share: Holder): void {
    this.#shares.delete(share);
  }

  /** Looks no more at any. */
  close(): void {
    clearTimeout(this.#timer);
  }

  /** Bytes of all requests that wait for their clients. */
  waitingBytes(): number {
    return this.#shares.list().reduce((sum, share) => sum + (transferOf(share) ? share.totalBytes : 0), 0);
  }

  /**
   * Ends requests that a newcomer's may take the place of, until they have given `bytes`; returns false if there is
   * none. A client within its fair share takes from those beyond theirs; else the one that will last longer gives way.
   */
  makeRoom(bytes: number, newcomer: Holder): boolean {
    // What the server does for itself can wait.
    if (newcomer.client.key === "" || performance.now() < (this.#futileUntil.get(newcomer.client) ?? 0)) return false;
    const { client } = newcomer;
    const given = this.#giveWay({ client, bytes, leftSeconds: leftSeconds(newcomer) });
    if (given > 0) return true;
    this.#futileUntil.set(client, performance.now() + FUTILE_MS);
    if (client.bytes + bytes <= this.#fairBytes(client)) this.#others?.ask(bytes);
    return false;
  }

  /**
   * Ends a request that holds a place for which others wait, if its client has been waited for for most of the span in
   * which a rate is measured, and does not take its answer fast.
   */
  endHeldPlace(share: Holder): void {
    const isFast = share.pace !== undefined && share.pace.bytesPerSecond >= PRESUMED_RATE;
    if (share.awaited >= LOOKS && isSending(share) && !isFast) this.#end(share, "place", heldPlace());
  }

  /** Ends requests that a taker's may take the place of; returns the bytes that they have given. */
  #giveWay(taker: Taker): number {
    const fairBytes = this.#fairBytes(taker.client);
    const givers = this.#shares
      .list()
      .filter((share) => share.totalBytes > 0 && transferOf(share) !== undefined)
      .map((share) => ({ share, client: share.client, bytes: share.totalBytes, leftSeconds: leftSeconds(share) }))
      .filter((giver) => mayTake(giver, taker, fairBytes))
      .sort((a, b) => (a.leftSeconds === b.leftSeconds ? b.bytes - a.bytes : b.leftSeconds - a.leftSeconds));
    let given = 0;
    for (const { share, bytes: held } of givers) {
      if (given >= taker.bytes) break;
      given += held;
      this.#end(share, "memory", noRoom(held));
    }
    return given;
  }

  #fairBytes(newcomer: ClientAccount): number {
    const clients = new Set([newcomer]);
    for (const { client } of this.#shares.list()) if (client.bytes > 0) clients.add(client);
    return this.#maxBytes / clients.size;
  }

  #wait(): NodeJS.Timeout {
    const { spanMs = SPAN_MS } = this.#rules;
    return setTimeout(() => this.#look(), spanMs / LOOKS).unref();
  }

  #look(): void {
    this.#timer = undefined;
    if (this.#shares.size === 0) return;
    this.#timer = this.#wait();
    const bytes = this.#others?.asked() ?? 0;
    if (bytes > 0) this.#giveWay({ client: new ClientAccount(""), bytes, leftSeconds: 0 });
    this.#lookAtSome(this.#shares.list(), 0);
  }

  /** A look at ten thousand would keep the thread for as long as one may be busy at all. */
  #lookAtSome(shares: readonly Holder[], from: number): void {
    const now = performance.now();
    const end = Math.min(from + LOOKED_AT_TOGETHER, shares.length);
    for (let at = from; at < end; at++) {
      const share = shares[at] as Holder;
      if (this.#shares.has(share)) this.#lookAt(share, now);
    }
    if (end < shares.length) setImmediate(() => this.#lookAtSome(shares, end));
  }

  #lookAt(share: Holder, now: number): void {
    const transfer = transferOf(share);
    share.awaited = Math.min(Math.max(share.awaited + (isSending(share) ? 1 : -2), 0), LOOKS);
    if (transfer === undefined) share.pace = undefined;
    else if (share.pace?.transfer !== transfer) share.pace = begin(transfer, now);
    else if (this.#isSlow(share.pace, now)) this.#end(share, "slow", tooSlow(transfer, this.#rules));
  }

  #isSlow(pace: Pace, now: number): boolean {
    const { movedBytes, stepBytes } = pace.transfer;
    const seconds = Math.max(now - pace.lastMs, 1) / 1000;
    pace.formerBytesPerSecond = pace.bytesPerSecond;
    pace.bytesPerSecond = (movedBytes - pace.lastBytes) / seconds;
    pace.isKnown = true;
    pace.lastMs = now;
    pace.lastBytes = movedBytes;
    const { minClientRate, spanMs = SPAN_MS } = this.#rules;
    if (minClientRate === 0 || now - pace.sinceMs < spanMs + (1000 * stepBytes) / minClientRate) return false;
    const neededBytes = (minClientRate * (now - pace.sinceMs)) / 1000 - stepBytes;
    if (movedBytes - pace.sinceBytes < neededBytes) return true;
    pace.sinceMs = now;
    pace.sinceBytes = movedBytes;
    return false;
  }

  #end(share: Holder, reason: EndReason, error: ServingError): void {
    const transfer = transferOf(share);
    if (transfer === undefined) return;
    const direction = transfer === share.receiving ? "receiving" : "sending";
    const { client, totalBytes: bytes } = share;
    share.receiving = undefined;
    share.sending = undefined;
    share.releaseAll();
    transfer.end(error);
    endedRequests.count(reason);
    this.#rules.onEnded?.({ reason, direction, client: client.key, bytes, message: error.message });
  }
}

/** A client, bytes that its request holds or wants, and the time for which that will go on at its speed. */
interface Taker {
  readonly client: ClientAccount;
  readonly bytes: number;
  readonly leftSeconds: number;
}

interface Giver extends Taker {
  readonly share: Holder;
}

/** A client's own requests make room if they will not end soon; another's, if it has more than its share. */
function mayTake(giver: Giver, taker: Taker, fairBytes: number): boolean {
  const [from, to] = [giver.client, taker.client];
  if (from !== to) return from.bytes > fairBytes && from.bytes > to.bytes + taker.bytes;
  return giver.share.pace?.isKnown === true && giver.leftSeconds > Math.max(SOON_SECONDS, taker.leftSeconds);
}

const isSending = ({ sending }: Holder) => sending?.isClientsTurn === true;

/** The transfer that waits for its client. */
function transferOf({ receiving, sending }: Holder): Transfer | undefined {
  if (sending?.isClientsTurn) return sending;
  return receiving?.isClientsTurn ? receiving : undefined;
}

/** Seconds until a transfer ends at its speed; 0 for a request that waits for no client, infinite if it stopped. */
function leftSeconds(share: Holder): number {
  const transfer = transferOf(share);
  if (transfer === undefined) return 0;
  const { pace } = share;
  if (pace?.transfer !== transfer || !pace.isKnown) return transfer.leftBytes / PRESUMED_RATE;
  // Infinite if it has stopped.
  return transfer.leftBytes / Math.max(pace.bytesPerSecond, pace.formerBytesPerSecond);
}

function begin(transfer: Transfer, now: number): Pace {
  const { movedBytes: bytes } = transfer;
  const rates = { bytesPerSecond: 0, formerBytesPerSecond: 0, isKnown: false };
  return { transfer, sinceMs: now, sinceBytes: bytes, lastMs: now, lastBytes: bytes, ...rates };
}

function tooSlow({ isFromBackend = false }: Transfer, { minClientRate }: OverloadRules): ServingError {
  const rate = `less than ${minClientRate} bytes per second (--min-client-rate)`;
  const message = isFromBackend
    ? `The server behind this one sends ${rate} of its answer; look at that server, and send the request again.`
    : `The client sends or takes ${rate}; go on faster.`;
  return new ServingError("deadline_exceeded", message);
}

function noRoom(bytes: number): ServingError {
  return new ServingError(
    "unavailable",
    `The request held ${bytes} bytes that others needed, and came or went more slowly than theirs; send it again later, or faster.`,
  );
}

function heldPlace(): ServingError {
  return new ServingError(
    "unavailable",
    "The client takes its answer more slowly than it is made, and others wait for its place; send the request again, and read faster.",
  );
}
