import { isIP } from "node:net";
import { setTimeout } from "node:timers/promises";
import type { CryptoKey, JSONWebKeySet, JWTHeaderParameters } from "jose";
import { invalidArgument, reasonText, ServingError } from "../../errors.ts";
import { readBytes } from "../../storage/http/answers.ts";
import { sendHttp } from "../../storage/http/http-request.ts";
import { readVersion } from "../../version.ts";
import { isLoopback } from "../network-address.ts";
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

/** Bytes of the longest answer, and milliseconds that it may take. */
const MAX_BYTES = 256 * 1024;
const TIMEOUT_MS = 5000;
/** Milliseconds after which it is read again, and after a failure. */
const FRESH_MS = 10 * 60_000;
const RETRY_MS = 30_000;
/** Milliseconds between two tries because of something that is missing, and between two for the same. */
const MISS_MS = 1000;
const SAME_MISS_MS = 10_000;
/** Missing things that are remembered, and characters of each. */
const MAX_MISSED = 1000;
const MAX_NAME = 256;

/**
 * The content of an address, read again every ten minutes, and earlier if something in it is missing. What it said
 * last counts while it does not answer.
 */
class RemoteFile<Content> {
  readonly path: string;
  readonly #parse: (text: string) => Content | Promise<Content>;
  #text = "";
  #content: Content | undefined;
  #nextAt = 0;
  #triedAt = Number.NEGATIVE_INFINITY;
  #problem: unknown;
  /** True if it said something new of which no {@link refresh} has told. */
  #isNews = false;
  #pending: Promise<boolean> | undefined;
  /** Times at which something was missed last, by its name. */
  readonly #missed = new Map<string, number>();

  private constructor(path: string, parse: (text: string) => Content | Promise<Content>) {
    this.path = path;
    this.#parse = parse;
  }

  /** Reads the address, which need not answer yet; throws `invalid_argument` for one that others could answer for. */
  static async open<Content>(
    address: string,
    parse: (text: string) => Content | Promise<Content>,
  ): Promise<RemoteFile<Content>> {
    assertAddress(address);
    const file = new RemoteFile(address, parse);
    await file.refresh().catch(() => {});
    return file;
  }

  /** Throws `unavailable` until it has been read once. */
  get content(): Content {
    if (this.#content !== undefined) return this.#content;
    throw new ServingError(
      "unavailable",
      "The keys by which tokens are checked could not be read yet; try again later.",
    );
  }

  /** Reads it again if it is time to; resolves with true if it says something new since the last call. */
  async refresh(): Promise<boolean> {
    if (performance.now() >= this.#nextAt) await this.#read();
    else if (this.#problem !== undefined) throw this.#problem;
    const isNews = this.#isNews;
    this.#isNews = false;
    return isNews;
  }

  /**
   * Reads it again because something that it is to name is missing: soon, and together with what others miss, but not
   * for what was missed a moment ago. Resolves with true if it says something new.
   */
  readonly refreshOnMiss = async (missing: string): Promise<boolean> => {
    if (!this.#isNewMiss(missing.slice(0, MAX_NAME))) return false;
    return this.#read(this.#triedAt + MISS_MS - performance.now());
  };

  #isNewMiss(name: string): boolean {
    const now = performance.now();
    const isNew = now - (this.#missed.get(name) ?? Number.NEGATIVE_INFINITY) >= SAME_MISS_MS;
    if (!isNew) return this.#pending !== undefined;
    this.#missed.delete(name);
    this.#missed.set(name, now);
    if (this.#missed.size > MAX_MISSED) this.#missed.delete(this.#missed.keys().next().value as string);
    return true;
  }

  /** All that ask before it begins share one read. */
  #read(inMs = 0): Promise<boolean> {
    this.#pending ??= this.#fetch(inMs).finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #fetch(inMs: number): Promise<boolean> {
    if (inMs > 0) await setTimeout(inMs);
    this.#triedAt = performance.now();
    this.#nextAt = this.#triedAt + RETRY_MS;
    try {
      const text = await fetchText(this.path);
      const isNew = text !== this.#text;
      if (isNew) this.#content = await this.#parse(text);
      this.#text = text;
      this.#isNews ||= isNew;
      this.#problem = undefined;
      this.#nextAt = performance.now() + FRESH_MS;
      return isNew;
    } catch (cause) {
      const why = reasonText(cause);
      this.#problem = new ServingError("unavailable", `${this.path} cannot be read: ${why}`, { cause });
      throw this.#problem;
    }
  }
}

/** Follows no redirects, by which another server would answer. */
async function fetchText(address: string): Promise<string> {
  const agent = { "user-agent": `kserving/${readVersion()}` };
  const headers = { accept: "application/json", "accept-encoding": "identity", ...agent };
  const response = await sendHttp(new URL(address), { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  const { statusCode: status = 0 } = response;
  if (status >= 200 && status < 300) return (await readBytes(response, MAX_BYTES)).toString();
  response.destroy();
  throw new Error(`it answers with status ${status}${status < 400 ? ", a redirect, which is not followed" : ""}`);
}

function assertAddress(address: string): void {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const host = (url?.hostname ?? "").replaceAll(/[[\]]/g, "");
  const isOwn = host === "localhost" || (isIP(host) !== 0 && isLoopback(host));
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isOwn);
  if (isSafe && url?.username === "" && url.password === "") return;
  throw invalidArgument(
    "--auth-jwks is not an address that can be trusted; expected https://, or http:// of this machine, without a password.",
  );
}
