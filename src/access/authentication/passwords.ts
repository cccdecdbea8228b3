import { ServingError } from "../../errors.ts";
import { retryInfo } from "../../retry-info.ts";
import { AttemptLimit } from "./attempt-limit.ts";
import { LoginQueue } from "./login-queue.ts";
import { isSameHash, matchesHash, type PasswordHash, parsePasswordHash } from "./password-hash.ts";

/** A name with a password, as a client at an address gives them. */
export interface Login {
  readonly name: string;
  readonly password: string;
  readonly address: string;
}

/** A hash of nothing, with the costs of ours: an unknown name takes as long as a wrong password. */
const NOBODY = parsePasswordHash(`$scrypt$ln=14,r=8,p=5$${"A".repeat(22)}$${"A".repeat(43)}`);

/**
 * Checks passwords, one at a time: that costs a tenth of a second of one core, which
 * no client may have for itself alone.
 */
export class Passwords {
  readonly #users: () => Iterable<ReadonlyMap<string, PasswordHash>>;
  readonly #attempts = new AttemptLimit();
  readonly #queue = new LoginQueue();

  /** `users`: hashes by name, as files have them now. */
  constructor(users: () => Iterable<ReadonlyMap<string, PasswordHash>>) {
    this.#users = users;
  }

  /**
   * Resolves with a check that the password is still the user's by what the files say later; with undefined where it is
   * not. Throws `resource_exhausted` for an address that has sent too many wrong ones, `unavailable` where it waits
   * with too many others.
   */
  async verify({ name, password, address }: Login): Promise<(() => boolean) | undefined> {
    const earlier = this.#attempts.count(address);
    const waitMs = this.#attempts.take(address);
    if (waitMs > 0) throw tooMany(waitMs);
    const hash = this.#hashOf(name);
    const matches = await this.#queue.run(earlier, () => matchesHash(password, hash ?? this.#anyHash()));
    if (!matches || hash === undefined) return undefined;
    this.#attempts.giveBack(address);
    return () => isSameHash(this.#hashOf(name), hash);
  }

  /** Gives up the checks that wait; to be called as the server ends. */
  close(): void {
    this.#queue.clear();
  }

  #hashOf(name: string): PasswordHash | undefined {
    for (const users of this.#users()) if (users.has(name)) return users.get(name);
    return undefined;
  }

  /** For a name that is not known, as costly as those of others. */
  #anyHash(): PasswordHash {
    for (const users of this.#users()) for (const hash of users.values()) return hash;
    return NOBODY;
  }
}

function tooMany(waitMs: number): ServingError {
  const seconds = Math.ceil(waitMs / 1000);
  const message = `Too many wrong passwords came from this address; try again in ${seconds} s.`;
  return new ServingError("resource_exhausted", message, { details: [retryInfo(waitMs)] });
}
