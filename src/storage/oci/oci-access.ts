import type { IncomingMessage } from "node:http";
import { ServingError } from "../../errors.ts";
import { wholeEnvironment } from "../../machine/start-secrets.ts";
import type { Expiring } from "../expiring.ts";
import { httpRequest } from "../http/http-request.ts";
import { readJson } from "../http/read-body.ts";
import { statusError } from "../http/status-error.ts";
import { isLocalRegistry, type OciLocation } from "./oci-location.ts";
import { findLogin } from "./registry-login.ts";

/** A value of the header Authorization; without one, requests are anonymous. */
export interface OciAccess extends Expiring {
  readonly authorization?: string;
}

const ACCESS = "Check the login of the registry";
/**
 * Lifetime of a token whose answer has none, in seconds: https://distribution.github.io/distribution/spec/auth/token/
 */
const TOKEN_SECONDS = 60;
/** Time before a token's end from which it is not used, in milliseconds. */
const MARGIN_MS = 10_000;

/**
 * Obtains the access that an answer of the status 401 asks for; undefined where there
 * is no login for it, or another kind is asked for.
 */
export async function authorize(
  { headers }: IncomingMessage,
  location: OciLocation,
  signal: AbortSignal,
): Promise<OciAccess | undefined> {
  const challenge = headers["www-authenticate"] ?? "";
  const login = await findLogin(location.registry, wholeEnvironment());
  const basic = login === undefined ? undefined : `Basic ${Buffer.from(login).toString("base64")}`;
  if (/^basic\b/i.test(challenge)) return basic === undefined ? undefined : { authorization: basic };
  if (!/^bearer\b/i.test(challenge)) return undefined;
  const parameters = Object.fromEntries(
    Array.from(challenge.matchAll(/\b(\w+)="([^"]*)"/g), ([, name, value]) => [name, value]),
  );
  const url = tokenUrl(parameters, location);
  const response = await httpRequest(url, { headers: basic === undefined ? {} : { authorization: basic }, signal });
  if (response.statusCode !== 200) throw await statusError(response, ACCESS);
  const {
    token,
    access_token = token,
    expires_in: seconds = TOKEN_SECONDS,
  } = (await readJson(response)) as Record<string, unknown>;
  if (typeof access_token !== "string") throw new ServingError("unavailable", "the registry's answer has no token");
  return { authorization: `Bearer ${access_token}`, expiresMs: Date.now() + 1000 * Number(seconds) - MARGIN_MS };
}

/** The login is sent there, so it has to be encrypted, but on this machine. */
function tokenUrl({ realm = "", service }: Readonly<Record<string, string>>, location: OciLocation): URL {
  if (!URL.canParse(realm))
    throw new ServingError("unavailable", "the registry does not say where its tokens come from");
  const url = new URL(realm);
  if (url.protocol !== "https:" && !isLocalRegistry(location))
    throw new ServingError("permission_denied", `the registry wants logins sent to ${url.host} without encryption`);
  if (service !== undefined) url.searchParams.set("service", service);
  url.searchParams.set("scope", `repository:${location.repository}:pull`);
  return url;
}
