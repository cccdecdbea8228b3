import { failedPrecondition, ServingError, systemCode } from "../../errors.ts";
import { readJson, statusError } from "./answers.ts";
import { httpRequest } from "./http-request.ts";

/** Credentials that end at a time. */
export interface Expiring {
  /** In milliseconds since 1970; undefined for ones that last. */
  readonly expiresMs?: number | undefined;
}

/**
 * Time before their end from which credentials are not used any more, in milliseconds:
 * a download takes its time to begin.
 */
const MARGIN_MS = 120_000;

/** Time until others are looked for if there are none, in milliseconds. */
const NONE_MS = 900_000;
/** The same if a machine's service failed, which it may do while the machine starts. */
const FAILED_MS = 10_000;

/** Credentials that a machine's own service gives; nothing, for a time, if there is no such service or it fails. */
export async function ofMachine<Value extends Expiring>(ask: () => Promise<Value>): Promise<Value | Expiring> {
  try {
    return await ask();
  } catch (reason) {
    return { expiresMs: Date.now() + (isAbsent(reason) ? NONE_MS : MARGIN_MS + FAILED_MS) };
  }
}

function isAbsent(reason: unknown): boolean {
  const { code, cause } = ServingError.from(reason);
  return code === "not_found" || ["ENOTFOUND", "EHOSTUNREACH", "ECONNREFUSED"].includes(systemCode(cause));
}

/** Obtains credentials once, and again when they are about to end. Failures are not kept. */
export function untilExpired<Value extends Expiring>(obtain: () => Promise<Value>): () => Promise<Value> {
  let kept: Promise<Value> | undefined;
  return async () => {
    const before = await kept?.catch(() => undefined);
    const isGood = before !== undefined && (before.expiresMs ?? Number.POSITIVE_INFINITY) - MARGIN_MS > Date.now();
    if (!isGood) kept = obtain();
    return kept as Promise<Value>;
  };
}

/** Time for a token, in milliseconds. */
const MAX_TOKEN_MS = 30_000;

/** Posts a form and reads the JSON of the answer, as OAuth 2.0 has it; `access` says how access is given. */
export async function postForm(
  url: URL,
  form: Readonly<Record<string, string>>,
  access: string,
): Promise<Readonly<Record<string, unknown>>> {
  const body = new URLSearchParams(form).toString();
  const headers = {
    "content-type": "application/x-www-form-urlencoded",
    "content-length": String(Buffer.byteLength(body)),
    accept: "application/json",
  };
  const response = await httpRequest(url, { method: "POST", headers, body, signal: AbortSignal.timeout(MAX_TOKEN_MS) });
  if (response.statusCode !== 200) throw await statusError(response, access);
  return ((await readJson(response)) ?? {}) as Readonly<Record<string, unknown>>;
}

/** The token in an answer of OAuth's; throws `failed_precondition` for one without. */
export function readToken({
  access_token: token,
  expires_in: seconds,
}: Readonly<Record<string, unknown>>): Expiring & { readonly token: string } {
  if (typeof token !== "string") throw failedPrecondition("the answer to the request for a token has none");
  return { token, expiresMs: Date.now() + 1000 * Number(seconds ?? 300) };
}
