import { hash, randomBytes } from "node:crypto";
import type { Identity } from "./identity.ts";

/** Credentials that are right, and until when, in milliseconds since the epoch; absent = as long as nothing changes. */
export interface Verified {
  readonly identity: Identity;
  readonly until?: number | undefined;
}

/** Credentials that are remembered. */
const MAX_KNOWN = 4096;

/**
 * Remembers what `Authorization` headers were found right, so that only the first request with each costs its check. It
 * keeps digests under a key of its own, so that neither its memory nor the time of a look-up reveals a header.
 */
export class KnownCredentials {
  readonly #key = randomBytes(32).toString("base64");
  readonly #known = new Map<string, Verified>();
  readonly #pending = new Map<string, Promise<Identity>>();
  #generation = 0;

  /** The identity that a header stands for, of which `verify` has the last word unless it is known. */
  identify(header: string, verify: () => Promise<Verified>): Identity | Promise<Identity> {
    const digest = hash("sha256", this.#key + header, "base64");
    const known = this.#known.get(digest);
    if (known !== undefined && (known.until === undefined || Date.now() < known.until)) {
      // Those that are used stay, however many others come.
      this.#remember(digest, known);
      return known.identity;
    }
    const pending = this.#pending.get(digest) ?? this.#verify(digest, verify);
    this.#pending.set(digest, pending);
    return pending;
  }

  /** Forgets everything, what is being verified too: it was right by what counted before. */
  forget(): void {
    this.#generation++;
    this.#known.clear();
    this.#pending.clear();
  }

  async #verify(digest: string, verify: () => Promise<Verified>): Promise<Identity> {
    const generation = this.#generation;
    try {
      const verified = await verify();
      if (generation === this.#generation) this.#remember(digest, verified);
      return verified.identity;
    } finally {
      if (generation === this.#generation) this.#pending.delete(digest);
    }
  }

  #remember(digest: string, verified: Verified): void {
    this.#known.delete(digest);
    this.#known.set(digest, verified);
    if (this.#known.size <= MAX_KNOWN) return;
    const [oldest] = this.#known.keys();
    this.#known.delete(oldest as string);
  }
}
