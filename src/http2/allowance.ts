import { TRANSPORT_LIMITS } from "../platform/limits/transport-limits.ts";
import { ConnectionError, ERROR } from "./protocol.ts";

/** Number of events that a client may cause at once, and of those that it regains per second. */
interface AllowanceLimits {
  readonly most: number;
  readonly perSecond: number;
  /** Number that it may cause at once if it regains some by what it does. */
  readonly mostEarned: number;
}

/** Frames without any use: they cost little each, and a client that works has few. */
const USELESS_FRAMES: AllowanceLimits = {
  most: TRANSPORT_LIMITS.idlePings,
  perSecond: 100,
  mostEarned: TRANSPORT_LIMITS.idlePings,
};
/**
 * Useless frames that a call regains; and one of data that was sent: its client widens two windows for it, and may ping
 * to measure the network (grpc-go does for each read).
 */
const PER_CALL = 10;
const PER_DATA = 4;
/**
 * Calls that are reset, by either side: a call may cost much more than its frames (CVE-2023-44487, CVE-2025-8671). At
 * first it is about as many as nghttp2 allows. A proxy passes on what any number of clients cancel: each call that is
 * answered allows one more, so that half of all may be reset, as in Envoy; some thousands in a row, when a model stands
 * still, if as many were answered before.
 */
const RESETS: AllowanceLimits = { most: 900, perSecond: 33, mostEarned: 10_000 };

/** An amount that is spent, and regained with time. */
class Allowance {
  readonly #limits: AllowanceLimits;
  #left: number;
  #countedAt = performance.now();

  constructor(limits: AllowanceLimits) {
    this.#limits = limits;
    this.#left = limits.most;
  }

  /** Returns false if there is nothing left. */
  spend(): boolean {
    const now = performance.now();
    const { most, perSecond } = this.#limits;
    this.#add(((now - this.#countedAt) / 1000) * perSecond, most);
    this.#countedAt = now;
    this.#left--;
    return this.#left >= 0;
  }

  earn(amount: number): void {
    this.#add(amount, this.#limits.mostEarned);
  }

  #add(amount: number, most: number): void {
    if (this.#left < most) this.#left = Math.min(most, this.#left + amount);
  }
}

/** Counts what a connection's client does that is of no use, so that it cannot keep the server busy with it. */
export class FloodLimits {
  readonly #useless = new Allowance(USELESS_FRAMES);
  readonly #resets = new Allowance(RESETS);

  /**
   * Counts a frame that is of no use; throws the error that ends the connection, with the reason for its client, once
   * there were too many.
   */
  countUseless(why = "too_many_frames"): void {
    if (!this.#useless.spend()) throw new ConnectionError(ERROR.enhanceYourCalm, why);
  }

  /**
   * Counts a call that was reset by its client before its answer began, or because of its client; throws as
   * {@link countUseless} does.
   */
  countReset(): void {
    if (!this.#resets.spend()) throw new ConnectionError(ERROR.enhanceYourCalm, "too_many_resets");
  }

  /** Says that a call has begun. */
  callBegan(): void {
    this.#useless.earn(PER_CALL);
  }

  /** Says that a call was answered whose request had come whole. */
  callAnswered(): void {
    this.#resets.earn(1);
  }

  /** Says that data was sent, which its client will acknowledge. */
  dataSent(): void {
    this.#useless.earn(PER_DATA);
  }
}
