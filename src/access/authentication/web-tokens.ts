import { invalidArgument, ServingError } from "../../errors.ts";
import type { BearerCheck } from "./authentication.ts";
import type { KeySet } from "./key-set.ts";
import type { Verified } from "./known-credentials.ts";

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
