import { hash, randomBytes } from "node:crypto";
import type { Identity } from "./identity.ts";

/** Credentials that are right. */
export interface Verified {
  readonly identity: Identity;
  /** Milliseconds since the epoch until which they are; absent = they do not expire. */
  readonly until?: number | undefined;
  /** False once that by which they were found right has changed. */
  readonly holds: () => boolean;
}

/** Credentials that are remembered. */
const MAX_KNOWN = 4096;

/**
 * Remembers what `Authorization` headers were found right, so that only the first request with each costs its check. It
 * keeps digests under its own key, so that neither its memory nor the time of a look-up reveals a header.
 */
export class KnownCredentials {
  readonly #key = randomBytes(32).toString("base64");
  readonly #known = new Map<string, Verified>();
  readonly #pending = new Map<string, Promise<Verified>>();

  /**
   * Finds what a header stands for, of which `verify` has the last word unless it is known. `isAgain`: a look of the
   * server's own, which does not take what a caller's look at the same time finds.
   */
  identify(header: string, verify: () => Promise<Verified>, isAgain = false): Verified | Promise<Verified> {
    const digest = hash("sha256", this.#key + header, "base64");
    const known = this.#known.get(digest);
    if (known !== undefined && (known.until === undefined || Date.now() < known.until)) {
      // Those that are used stay, however many others come.
      this.#remember(digest, known);
      return known;
    }
    const key = isAgain ? `again ${digest}` : digest;
    const pending =
      this.#pending.get(key) ?? this.#verify(digest, verify).finally(() => void this.#pending.delete(key));
    this.#pending.set(key, pending);
    return pending;
  }

  /** Forgets what holds no longer; to be called after a change. */
  forgetChanged(): void {
    for (const [digest, verified] of this.#known) if (!verified.holds()) this.#known.delete(digest);
  }

  async #verify(digest: string, verify: () => Promise<Verified>): Promise<Verified> {
    const first = await verify();
    // It was right by what counted before, if that has changed meanwhile.
    const verified = first.holds() ? first : await verify();
    this.#remember(digest, verified);
    return verified;
  }

  #remember(digest: string, verified: Verified): void {
    this.#known.delete(digest);
    this.#known.set(digest, verified);
    if (this.#known.size <= MAX_KNOWN) return;
    const [oldest] = this.#known.keys();
    this.#known.delete(oldest as string);
  }
}
