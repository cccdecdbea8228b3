import { ServingError } from "../../errors.ts";
import { retryInfo } from "../../retry-info.ts";
import { AttemptLimit } from "./attempt-limit.ts";
import { FairJobs } from "./fair-jobs.ts";
import { matchesHash, type PasswordHash, parsePasswordHash } from "./password-hash.ts";

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
  readonly #jobs = new FairJobs();

  /** `users`: hashes by name, as files have them now. */
  constructor(users: () => Iterable<ReadonlyMap<string, PasswordHash>>) {
    this.#users = users;
  }

  /**
   * Resolves with whether the password is the user's; throws `resource_exhausted` for an
   * address that has sent too many wrong ones.
   */
  async isRight({ name, password, address }: Login): Promise<boolean> {
    const waitMs = this.#attempts.take(address);
    if (waitMs > 0) throw tooMany(waitMs);
    const known = [...this.#users()];
    const hash = known.find((users) => users.has(name))?.get(name);
    const [like = NOBODY] = known.flatMap((users) => [...users.values()]);
    const matches = await this.#jobs.run(address, () => matchesHash(password, hash ?? like));
    if (!matches || hash === undefined) return false;
    this.#attempts.giveBack(address);
    return true;
  }
}

function tooMany(waitMs: number): ServingError {
  const seconds = Math.ceil(waitMs / 1000);
  const message = `Too many wrong passwords came from this address; try again in ${seconds} s.`;
  return new ServingError("resource_exhausted", message, { details: [retryInfo(waitMs)] });
}
