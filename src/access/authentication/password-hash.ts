import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { invalidArgument } from "../../errors.ts";

/** A hash of a password, and how it was made. */
export interface PasswordHash {
  readonly options: ScryptOptions;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

/** The cost that OWASP's Password Storage Cheat Sheet asks for, in the variant of 16 MB. */
const COST = { logN: 14, r: 8, p: 5 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** A line that was cut has a shorter hash, which many passwords have, and all of them if nothing is left of it. */
const MIN_HASH_BYTES = 16;
/** A hash in a file may cost more than our own, up to here. */
const MAX_MEMORY = 256 * 1024 * 1024;
const MAX_WORK = 64;
/** Characters of the longest password whose letters may have any form. */
const MAX_NORMALIZED = 1024;
/** `$scrypt$ln=14,r=8,p=5$SALT$HASH`, as passlib and others write it; base64 without padding. */
const FORM = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** Hashes a password with its own salt, as a line's text. */
export async function hashPassword(password: string, { logN, r, p } = COST as HashCost): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, { options: toOptions(logN, r, p), salt, length: HASH_BYTES });
  return `$scrypt$ln=${logN},r=${r},p=${p}$${toBase64(salt)}$${toBase64(hash)}`;
}

/** Cost of a hash: 2 to the power of `logN` rounds over blocks of 128 · `r` bytes, `p` times. */
export interface HashCost {
  readonly logN: number;
  readonly r: number;
  readonly p: number;
}

/**
 * Reads a hash; throws `invalid_argument` for a text in another form, or for a hash
 * that costs more than a server should pay.
 */
export function parsePasswordHash(text: string): PasswordHash {
  const [, logN, r, p, salt = "", hash = ""] = FORM.exec(text) ?? [];
  if (logN === undefined) throw invalidArgument("the hash is not $scrypt$ln=…; kserving hash-password writes one");
  const options = toOptions(Number(logN), Number(r), Number(p));
  const memory = 128 * (options.N as number) * (options.r as number);
  const work = (memory / 2 ** 24) * (options.p as number);
  if (Number(logN) < 1 || options.r === 0 || options.p === 0 || memory > MAX_MEMORY || work > MAX_WORK)
    throw invalidArgument("the hash has costs that this server does not take; kserving hash-password writes one");
  const bytes = Buffer.from(hash, "base64");
  if (bytes.length < MIN_HASH_BYTES)
    throw invalidArgument(`the hash has ${bytes.length} bytes; expected ${HASH_BYTES}, a whole line`);
  return { options, salt: Buffer.from(salt, "base64"), hash: bytes };
}

/** Checks that two hashes are one and the same, with the same salt and costs. */
export function isSameHash(one: PasswordHash | undefined, other: PasswordHash): boolean {
  if (one === undefined || !one.salt.equals(other.salt) || !one.hash.equals(other.hash)) return false;
  const [{ N, r, p }, { options }] = [one.options, other];
  return N === options.N && r === options.r && p === options.p;
}

/** Checks a password against a hash, in Node's thread pool; takes as long for a wrong one. */
export async function matchesHash(password: string, { options, salt, hash }: PasswordHash): Promise<boolean> {
  const derived = await derive(password, { options, salt, length: hash.length });
  return timingSafeEqual(derived, hash);
}

interface Derivation {
  readonly options: ScryptOptions;
  readonly salt: Buffer;
  readonly length: number;
}

function derive(password: string, { options, salt, length }: Derivation): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(normalized(password), salt, length, options, (error, key) => (error ? reject(error) : resolve(key)));
  });
}

/** The same letter may be one sign or two. To order the marks of a longer text takes a time that grows too fast. */
function normalized(password: string): string {
  return password.length <= MAX_NORMALIZED ? password.normalize("NFC") : password;
}

function toOptions(logN: number, r: number, p: number): ScryptOptions {
  return { N: 2 ** logN, r, p, maxmem: 2 * MAX_MEMORY };
}

function toBase64(bytes: Buffer): string {
  return bytes.toString("base64").replace(/=+$/, "");
}
