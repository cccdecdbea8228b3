import { networkOf } from "../network-of.ts";

/** Wrong passwords that an address may send one after another. */
export const ATTEMPTS = 10;
/** Milliseconds after which it may send a further one. */
export const ATTEMPT_MS = 3000;
/** Addresses that are remembered. */
const MAX_ADDRESSES = 10_000;

/** Attempts of one address: how many it had left at a time. */
interface Attempts {
  left: number;
  at: number;
}

/**
 * Limits the wrong passwords that come from one address, or from one network of IPv6,
 * of which a client has billions of addresses.
 */
export class AttemptLimit {
  readonly #addresses = new Map<string, Attempts>();

  /** Whole attempts of an address that count at present. */
  count(address: string, now = performance.now()): number {
    const attempts = this.#addresses.get(networkOf(address));
    if (attempts === undefined) return 0;
    return Math.max(0, Math.ceil(ATTEMPTS - attempts.left - (now - attempts.at) / ATTEMPT_MS));
  }

  /** Counts an attempt; returns 0, or the milliseconds after which there may be one. */
  take(address: string, now = performance.now()): number {
    const key = networkOf(address);
    const attempts = this.#addresses.get(key) ?? { left: ATTEMPTS, at: now };
    attempts.left = Math.min(ATTEMPTS, attempts.left + (now - attempts.at) / ATTEMPT_MS);
    attempts.at = now;
    if (attempts.left < 1) return Math.ceil((1 - attempts.left) * ATTEMPT_MS);
    attempts.left--;
    this.#remember(key, attempts);
    return 0;
  }

  /** Gives back an attempt that was right. */
  giveBack(address: string): void {
    const key = networkOf(address);
    const attempts = this.#addresses.get(key);
    if (attempts === undefined) return;
    attempts.left++;
    if (attempts.left >= ATTEMPTS) this.#addresses.delete(key);
  }

  #remember(key: string, attempts: Attempts): void {
    this.#addresses.delete(key);
    this.#addresses.set(key, attempts);
    if (this.#addresses.size <= MAX_ADDRESSES) return;
    const [oldest] = this.#addresses.keys();
    this.#addresses.delete(oldest as string);
  }
}
