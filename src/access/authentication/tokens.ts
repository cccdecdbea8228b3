import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { invalidArgument } from "../../errors.ts";
import { readNameLines } from "./name-lines.ts";
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
  return WatchedFile.open(path, { what: "file of tokens", parse: (text, file) => readNameLines(text, file, parse) });
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

function parse(text: string): Buffer {
  const [, hash] = FORM.exec(text) ?? [];
  if (hash === undefined) throw invalidArgument("the hash is not $sha256$…; kserving hash-token writes one");
  return Buffer.from(hash, "hex");
}
