import { invalidArgument, ServingError } from "../../errors.ts";
import { AccessRules, readRules } from "../rules/access-rules.ts";
import type { TrustedProxies } from "../trusted-proxies.ts";
import { Authentication, type BearerCheck, type Refreshable } from "./authentication.ts";
import { findToken, openPassword, openTokens, openUsers, toUsers, type Users } from "./credential-files.ts";
import { type KeySet, openKeySet } from "./key-set.ts";
import type { Verified } from "./known-credentials.ts";
import { Passwords } from "./passwords.ts";
import { WatchedFile } from "./watched-file.ts";

/** Files that say who may call; without one of them that way is closed. */
export interface AuthenticationOptions {
  /** Names with hashes of passwords, as `kserving hash-password` writes them. */
  readonly users?: string | undefined;
  /** A single user's name, of the password in `passwordFile`. */
  readonly username?: string | undefined;
  /** A file with nothing but the single user's password. */
  readonly passwordFile?: string | undefined;
  /** The single user's password itself, instead of the file. */
  readonly password?: string | undefined;
  /** Names with hashes of tokens, as `kserving hash-token` writes them. */
  readonly tokens?: string | undefined;
  /** A JSON Web Key Set by which tokens are signed: a file, or an `https:` address. */
  readonly jwks?: string | undefined;
  /** The issuer (`iss`) of such tokens; needed with `jwks`. */
  readonly jwtIssuer?: string | undefined;
  /** The audience (`aud`) that this server is; needed with `jwks`. */
  readonly jwtAudience?: string | undefined;
  /** Rules of who may do what. Default: who is known may do everything. */
  readonly rules?: string | undefined;
}

/** The facts about a server's connections that matter here. */
interface Surroundings {
  readonly proxies: Pick<TrustedProxies, "clientAddress">;
  /** True if clients have certificates, which are names then. */
  readonly hasCertificates?: boolean;
}

/**
 * Reads what says who may call; throws `failed_precondition` for a file that does not
 * work, `invalid_argument` if a part is missing.
 */
export async function openAuthentication(
  options: AuthenticationOptions,
  { proxies, hasCertificates = false }: Surroundings,
): Promise<Authentication> {
  const users = await openAllUsers(options);
  const tokens = options.tokens === undefined ? undefined : await openTokens(options.tokens);
  const signed = await openWebTokens(options);
  const rules = options.rules === undefined ? undefined : await openRules(options.rules);
  if (users.length === 0 && !tokens && !signed && !hasCertificates) throw invalidArgument(NOBODY);
  const others: readonly (Refreshable | undefined)[] = [tokens, signed?.keys, rules];
  return new Authentication({
    passwords: users.length === 0 ? undefined : new Passwords(() => users.map(({ content }) => content)),
    bearers: [...(tokens ? [tokenCheck(tokens)] : []), ...(signed ? [createWebTokenCheck(signed)] : [])],
    hasCertificates,
    rules: () => rules?.content ?? KNOWN_MAY_ALL,
    sources: [...users, ...others.filter((source) => source !== undefined)],
    addressOf: (caller) => proxies.clientAddress(caller),
  });
}

const NOBODY =
  "There are rules, but callers have no way to show a name; give --auth-users, --auth-tokens or --auth-jwks too.";
const KNOWN_MAY_ALL = new AccessRules();

async function openAllUsers({ users, ...single }: AuthenticationOptions): Promise<UserSource[]> {
  return [...(users === undefined ? [] : [await openUsers(users)]), ...(await openSingleUser(single))];
}

/** Users, read again if they come from a file. */
type UserSource = Pick<WatchedFile<Users>, "path" | "content" | "refresh">;

async function openSingleUser({ username, passwordFile, password }: AuthenticationOptions): Promise<UserSource[]> {
  if ((username === undefined) !== (passwordFile === undefined && password === undefined))
    throw invalidArgument("--auth-username and --auth-password-file go together; one of them is missing.");
  if (username === undefined) return [];
  if (passwordFile !== undefined) return [await openPassword(username, passwordFile)];
  const content = await toUsers(username, password as string);
  return [{ path: "", content, refresh: async () => false }];
}

/**
 * A token for another audience, or of another issuer with the same keys, would be
 * taken if issuer and audience were left out.
 */
async function openWebTokens(options: AuthenticationOptions): Promise<WebTokenRules | undefined> {
  const { jwks, jwtIssuer: issuer, jwtAudience: audience } = options;
  if (jwks === undefined && issuer === undefined && audience === undefined) return undefined;
  if (jwks === undefined || issuer === undefined || audience === undefined)
    throw invalidArgument(
      "--auth-jwks, --auth-jwt-issuer and --auth-jwt-audience go together; one of them is missing.",
    );
  return { keys: await openKeySet(jwks), issuer, audience };
}

/** YAML is imported for those who have rules. */
async function openRules(path: string): Promise<WatchedFile<AccessRules>> {
  const { parseYaml } = await import("../../tensor/codecs/config/yaml.ts");
  const parse = (text: string, file: string) => readRules(parseYaml(text, file), file);
  return WatchedFile.open(path, { what: "file of rules", parse });
}

function tokenCheck(tokens: { readonly content: ReadonlyMap<string, Buffer> }): BearerCheck {
  return async (token) => {
    const name = findToken(tokens.content, token);
    if (name === undefined) return undefined;
    const hash = tokens.content.get(name) as Buffer;
    return { identity: { names: [`token:${name}`] }, holds: () => tokens.content.get(name)?.equals(hash) === true };
  };
}

/** Tokens that are taken: signed by one of the keys, made by this issuer for this audience. */
export interface WebTokenRules {
  readonly keys: KeySet;
  readonly issuer: string;
  readonly audience: string;
}

/** Seconds by which clocks may differ. */
const CLOCK_TOLERANCE_S = 30;
/** Characters of a token: no server's head of a request takes more over HTTP. */
const MAX_TOKEN = 16 * 1024;
/** Characters of a user's name, in rules, accounts and logs; OpenID Connect's are of 255 at most. */
const MAX_SUBJECT = 1024;
const SIGNED = ["RS", "PS", "ES", "HS"].flatMap((family) => ["256", "384", "512"].map((bits) => family + bits));
/** Everything but none: a key decides which it is for. */
const ALGORITHMS = [...SIGNED, "EdDSA", "Ed25519"];

/** Checks JSON Web Tokens (RFC 7519); rejects with `unauthenticated` and the reason for one that does not count. */
export function createWebTokenCheck(rules: WebTokenRules): BearerCheck {
  return async (token) => {
    if (token.length > MAX_TOKEN) throw tooLong("token", token.length, MAX_TOKEN);
    if (!/^[\w-]+\.[\w-]+\.[\w-]*$/.test(token)) return undefined;
    const { keys } = rules;
    const { content } = keys;
    try {
      return await verify(token, rules, content);
    } catch (reason) {
      if (codeOf(reason) !== "ERR_JWKS_NO_MATCHING_KEY") throw toRefusal(reason);
      await keys.refreshOnMiss?.(keyOf(token)).catch(() => false);
      if (keys.content === content) throw toRefusal(reason);
      return await verify(token, rules, keys.content).catch((again) => {
        throw toRefusal(again);
      });
    }
  };
}

/** jose is imported with the first token. */
async function verify(
  token: string,
  { keys, issuer, audience }: WebTokenRules,
  content: KeySet["content"],
): Promise<Verified> {
  const { jwtVerify } = await import("jose");
  const claims = { issuer, audience, clockTolerance: CLOCK_TOLERANCE_S, requiredClaims: ["exp", "sub"] };
  const { payload } = await jwtVerify(token, content as never, { ...claims, algorithms: ALGORITHMS });
  const { sub, exp = 0 } = payload;
  if (typeof sub !== "string" || sub === "") throw invalidArgument("The token names no user; expected a claim sub.");
  if (sub.length > MAX_SUBJECT) throw tooLong("token's claim sub", sub.length, MAX_SUBJECT);
  return { identity: { names: [`jwt:${sub}`] }, until: exp * 1000, holds: () => keys.content === content };
}

/** The id of the key that a token names; empty if it names none. */
function keyOf(token: string): string {
  const { kid } = JSON.parse(Buffer.from(token.split(".", 1)[0] as string, "base64url").toString());
  return String(kid ?? "");
}

function tooLong(what: string, length: number, most: number): ServingError {
  return new ServingError("unauthenticated", `The ${what} has ${length} characters; expected ${most} at most.`);
}

function toRefusal(reason: unknown): unknown {
  if (reason instanceof ServingError && reason.code !== "invalid_argument") return reason;
  return new ServingError("unauthenticated", textOf(reason), { cause: reason });
}

/** Nothing of the token itself, which stands in answers and logs. */
function textOf(reason: unknown): string {
  const { claim } = reason as { readonly claim?: unknown };
  const code = codeOf(reason);
  if (code === "ERR_JWT_EXPIRED") return "The token has expired.";
  if (code === "ERR_JWT_CLAIM_VALIDATION_FAILED")
    return `The claim ${String(claim)} of the token is not what this server expects.`;
  if (code === "ERR_JWKS_NO_MATCHING_KEY") return "No key is known that has signed the token.";
  return "The token is not signed as this server expects.";
}

function codeOf(reason: unknown): unknown {
  return (reason as { readonly code?: unknown } | undefined)?.code;
}
