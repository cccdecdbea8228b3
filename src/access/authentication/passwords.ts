import { ServingError } from "../../errors.ts";
import { retryInfo } from "../../retry-info.ts";
import { networkOf } from "../network-address.ts";
import { isSameHash, matchesHash, type PasswordHash, parsePasswordHash } from "./password-hash.ts";

/** A name with a password, as a client at an address gives them. */
export interface Login {
  readonly name: string;
  readonly password: string;
  readonly address: string;
}

/** Attempts, in the order of checks, of the server's own looks. */
const BEFORE_ALL = -1;

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
   * Resolves with a check that the password is still the user's by what the files say later; with undefined if it is
   * not. Throws `resource_exhausted` for an address that has sent too many wrong ones, `unavailable` if it waits
   * with too many others.
   */
  async verify({ address, ...login }: Login): Promise<(() => boolean) | undefined> {
    const earlier = this.#attempts.count(address);
    const waitMs = this.#attempts.take(address);
    if (waitMs > 0) throw tooManyWrong(waitMs);
    const holds = await this.#check(login, earlier);
    if (holds !== undefined) this.#attempts.giveBack(address);
    return holds;
  }

  /**
   * Resolves as {@link verify} for a login that was right before: a look of the server's own, which goes before those
   * that callers ask for, and which no attempts from their address hinder.
   */
  async verifyAgain(login: Omit<Login, "address">): Promise<(() => boolean) | undefined> {
    return this.#hashOf(login.name) === undefined ? undefined : this.#check(login, BEFORE_ALL);
  }

  async #check({ name, password }: Omit<Login, "address">, earlier: number): Promise<(() => boolean) | undefined> {
    const hash = this.#hashOf(name);
    const matches = await this.#queue.run(earlier, () => matchesHash(password, hash ?? this.#anyHash()));
    if (!matches || hash === undefined) return undefined;
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

function tooManyWrong(waitMs: number): ServingError {
  const seconds = Math.ceil(waitMs / 1000);
  const message = `Too many wrong passwords came from this address; try again in ${seconds} s.`;
  return new ServingError("resource_exhausted", message, { details: [retryInfo(waitMs)] });
}

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

/** Jobs that may wait. */
const MAX_WAITING = 256;

interface Job {
  /** Earlier attempts of its client of which none was right. */
  readonly attempts: number;
  run(): Promise<void>;
  drop(reason: ServingError): void;
}

/**
 * Runs costly jobs one at a time: first those of clients that have made the fewest attempts, of equal ones the newest,
 * so that a quiet client waits for the job that runs, however many others send. If too many wait, the oldest of
 * those with the most attempts is dropped.
 */
export class LoginQueue {
  readonly #waiting: Job[] = [];
  #isRunning = false;

  /** Runs a job of a client with so many attempts; rejects with `unavailable` if it is dropped. */
  run<Result>(attempts: number, job: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ attempts, run: () => job().then(resolve, reject), drop: reject });
      if (this.#waiting.length > MAX_WAITING) this.#take(isMore).drop(tooManyWaiting());
      if (!this.#isRunning) void this.#runAll();
    });
  }

  /** Drops all that wait, which a server that ends would wait for. */
  clear(): void {
    for (const job of this.#waiting.splice(0)) job.drop(tooManyWaiting());
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) await this.#take(isNotMore).run();
    this.#isRunning = false;
  }

  /** Takes the first of those that no other one goes before. */
  #take(goesBefore: (one: Job, other: Job) => boolean): Job {
    let at = 0;
    for (let index = 1; index < this.#waiting.length; index++)
      if (goesBefore(this.#waiting[index] as Job, this.#waiting[at] as Job)) at = index;
    return this.#waiting.splice(at, 1)[0] as Job;
  }
}

function isMore(one: Job, other: Job): boolean {
  return one.attempts > other.attempts;
}

function isNotMore(one: Job, other: Job): boolean {
  return one.attempts <= other.attempts;
}

function tooManyWaiting(): ServingError {
  return new ServingError("unavailable", "Too many passwords wait to be checked; try again later.");
}
