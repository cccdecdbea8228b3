import type { CryptoKey, JSONWebKeySet, JWTHeaderParameters } from "jose";
import { invalidArgument } from "../../errors.ts";
import { RemoteFile } from "./remote-file.ts";
import { WatchedFile } from "./watched-file.ts";

/** Finds the key of a token; throws if there is none for it. */
type FindKey = (header: JWTHeaderParameters, token: never) => Promise<CryptoKey | Uint8Array>;

/** Keys that sign tokens, as a file or an address has them now. */
export interface KeySet {
  readonly path: string;
  readonly content: FindKey;
  /** Reads them again if they have changed. */
  refresh(): Promise<boolean>;
  /** Reads them again because one with this id is missing; false if that was tried for it a moment ago. */
  readonly refreshOnMiss?: (id: string) => Promise<boolean>;
}

/** Bytes of the shortest secret that signs tokens. */
const MIN_SECRET_BYTES = 32;

/**
 * Opens a JSON Web Key Set (RFC 7517) in a file or at an `https:` address; throws for a file in another form, while an
 * address may answer later.
 */
export async function openKeySet(place: string): Promise<KeySet> {
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(place)) return RemoteFile.open(place, (text) => toFinder(text, place, false));
  return WatchedFile.open(place, { what: "key set", parse: (text, file) => toFinder(text, file, true) });
}

/** Secrets are accepted from files only: others may read an address too. */
async function toFinder(text: string, place: string, mayHaveSecrets: boolean): Promise<FindKey> {
  const { createLocalJWKSet } = await import("jose");
  const set = parseSet(text, place);
  const findPublic = createLocalJWKSet({ keys: set.keys.filter(({ kty }) => kty !== "oct") });
  if (!mayHaveSecrets) return findPublic;
  return async (header, token) => (header.alg.startsWith("HS") ? findSecret(set, header) : findPublic(header, token));
}

function parseSet(text: string, place: string): JSONWebKeySet {
  try {
    const set = JSON.parse(text) as Partial<JSONWebKeySet>;
    if (Array.isArray(set.keys) && set.keys.every((key) => typeof key === "object" && key !== null))
      return set as JSONWebKeySet;
  } catch {
    // Said below, without the text, which may have secrets.
  }
  throw invalidArgument(`${place} is not a JSON Web Key Set; expected {"keys": [...]}.`);
}

/** A secret is taken for no algorithm but the one that it names itself. */
function findSecret({ keys }: JSONWebKeySet, { alg, kid }: JWTHeaderParameters): Uint8Array {
  const found = keys.find((key) => key.kty === "oct" && key.alg === alg && (kid === undefined || key.kid === kid));
  const secret = Buffer.from(typeof found?.k === "string" ? found.k : "", "base64url");
  if (secret.length < MIN_SECRET_BYTES) throw invalidArgument("No secret of the key set is for this token.");
  return secret;
}
