import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { failedPrecondition, invalidArgument, reasonText } from "../../errors.ts";
import { hashPassword, type PasswordHash, parsePasswordHash } from "./password-hash.ts";
import { WatchedFile } from "./watched-file.ts";

/** Hashes of tokens by name. */
export type Tokens = ReadonlyMap<string, Buffer>;

const FORM = /^\$sha256\$([0-9a-f]{64})$/;
/** Characters of the shortest token: their hash costs nothing to try, so that they must not be guessed. */
const MIN_LENGTH = 32;

/** Makes a token that cannot be guessed: 256 bits. */
export function createToken(): string {
  return randomBytes(32).toString("base64url");
}

/** Hashes a token, as a line's text; throws `invalid_argument` for one that is short enough to be tried. */
export function hashToken(token: string): string {
  if (!/^[\w~+/.=-]+$/.test(token))
    throw invalidArgument("A token consists of letters, digits and -._~+/=; expected one such.");
  if (token.length < MIN_LENGTH)
    throw invalidArgument(
      `The token has ${token.length} characters; expected ${MIN_LENGTH} or more, chosen at random.`,
    );
  return `$sha256$${digestOf(token).toString("hex")}`;
}

/** Opens a file of names with hashes of tokens. */
export function openTokens(path: string): Promise<WatchedFile<Tokens>> {
  return WatchedFile.open(path, {
    what: "file of tokens",
    parse: (text, file) => readNameLines(text, file, parseTokenHash),
  });
}

/** The name of a token; undefined for an unknown one. Compares all of them, so that its duration reveals nothing. */
export function findToken(tokens: Tokens, token: string): string | undefined {
  const digest = digestOf(token);
  let found: string | undefined;
  for (const [name, hash] of tokens) if (timingSafeEqual(hash, digest)) found = name;
  return found;
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

function parseTokenHash(text: string): Buffer {
  const [, hash] = FORM.exec(text) ?? [];
  if (hash === undefined) throw invalidArgument("the hash is not $sha256$…; kserving hash-token writes one");
  return Buffer.from(hash, "hex");
}

/** No control character, and no colon, which ends the name (RFC 7617 §2). */
const NAME = /^[^\p{Cc}:]{1,200}$/u;

/**
 * Reads lines of `NAME:VALUE`; empty ones and those that begin with # say nothing. Throws `failed_precondition` with
 * the number of a line that cannot be read, never with what it holds.
 */
function readNameLines<Value>(text: string, file: string, read: (value: string) => Value): Map<string, Value> {
  const values = new Map<string, Value>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue;
    const refuse = (problem: string) => failedPrecondition(`${file}:${index + 1}: ${problem}.`);
    const [name, value] = split(line);
    if (!NAME.test(name)) throw refuse("expected NAME:HASH, as kserving hash-password and hash-token write it");
    if (values.has(name)) throw refuse(`the name ${name} stands here for the second time`);
    try {
      values.set(name, read(value));
    } catch (reason) {
      throw refuse(reasonText(reason));
    }
  }
  return values;
}

function split(line: string): readonly [name: string, value: string] {
  const at = line.indexOf(":");
  return at < 0 ? ["", ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}

/** Hashes of passwords by name. */
export type Users = ReadonlyMap<string, PasswordHash>;

/** Opens a file of names with hashes. */
export function openUsers(path: string): Promise<WatchedFile<Users>> {
  const parse = (text: string, file: string) => readNameLines(text, file, parsePasswordHash);
  return WatchedFile.open(path, { what: "file of users", parse });
}

/**
 * Opens a file that holds a single user's password, as secrets of containers do; a
 * line break at its end is not part of it.
 */
export function openPassword(name: string, path: string): Promise<WatchedFile<Users>> {
  const parse = async (text: string, file: string) => {
    const password = text.replace(/\r?\n$/, "");
    if (password === "") throw invalidArgument(`${file} is empty; expected the password of ${name}.`);
    return toUsers(name, password);
  };
  return WatchedFile.open(path, { what: "password file", parse });
}

/** A single user with a password. */
export async function toUsers(name: string, password: string): Promise<Users> {
  return new Map([[name, parsePasswordHash(await hashPassword(password))]]);
}
