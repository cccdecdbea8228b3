import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";
import { wholeEnvironment } from "../../platform/machine/start-secrets.ts";
import { homeFolder } from "../../platform/machine/system.ts";
import { type Environment, firstOf } from "../environment.ts";
import type { Expiring } from "../http/access-token.ts";
import { readJson, statusError } from "../http/answers.ts";
import { httpRequest } from "../http/http-request.ts";
import { shownAddress } from "../remote-address.ts";

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
 * Obtains the access that an answer of the status 401 asks for; undefined if there
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

/** Logins as Docker and podman keep them. */
interface LoginFile {
  readonly auths?: Readonly<
    Record<string, { readonly auth?: string; readonly username?: string; readonly password?: string }>
  >;
  readonly credsStore?: string;
  readonly credHelpers?: Readonly<Record<string, string>>;
}

/**
 * Finds `USER:PASSWORD` for a registry: in the file of REGISTRY_AUTH_FILE, else in the config.json of DOCKER_CONFIG or
 * of this user. Throws `failed_precondition` if a program keeps it.
 */
async function findLogin(registry: string, env: Environment): Promise<string | undefined> {
  const folder = firstOf(env, "DOCKER_CONFIG") ?? join(homeFolder(), ".docker");
  const text = await readFile(firstOf(env, "REGISTRY_AUTH_FILE") ?? join(folder, "config.json"), "utf8").catch(
    () => "{}",
  );
  const { auths = {}, credHelpers = {}, credsStore } = parse(text);
  const names = registry === "docker.io" ? [registry, "index.docker.io"] : [registry];
  const [, found] = Object.entries(auths).find(([name]) => names.includes(hostOf(name))) ?? [];
  if (found?.auth) return Buffer.from(found.auth, "base64").toString("utf8");
  if (found?.username) return `${found.username}:${found.password ?? ""}`;
  if (credHelpers[registry] === undefined && (credsStore === undefined || found === undefined)) return undefined;
  throw failedPrecondition(
    `the login of ${registry} is kept by a program of Docker's, which is not run here. Write it to a file: oras login --registry-config FILE, and set REGISTRY_AUTH_FILE`,
  );
}

function hostOf(name: string): string {
  return name.replace(/^https?:\/\//, "").replace(/\/.*$/, "");
}

function parse(text: string): LoginFile {
  try {
    return (JSON.parse(text) ?? {}) as LoginFile;
  } catch {
    throw failedPrecondition(
      "the file with the logins of registries is not JSON. Check REGISTRY_AUTH_FILE or DOCKER_CONFIG",
    );
  }
}

/** A manifest in a registry. */
export interface OciLocation {
  /** `HOST` or `HOST:PORT`. */
  readonly registry: string;
  readonly repository: string;
  /** A tag, or a digest: `sha256:HEX`. */
  readonly reference: string;
}

const EXPECTED = "oci://REGISTRY/REPOSITORY:TAG or oci://REGISTRY/REPOSITORY@sha256:HEX, perhaps with /PATH after it";
const NAME = /^[a-z\d]+(?:(?:[._]|__|-+)[a-z\d]+)*$/;

/**
 * Reads `oci://REGISTRY/REPOSITORY:TAG/PATH`; without a tag or digest all of the path is the repository's, and the tag
 * is `latest`. Names are those of https://github.com/opencontainers/distribution-spec/blob/main/spec.md
 */
export function parseOci(address: string): OciLocation & { readonly key: string } {
  const [registry = "", ...parts] = address
    .slice("oci://".length)
    .split("/")
    .filter((part) => part !== "");
  const at = parts.findIndex((part) => /[:@]/.test(part));
  const names = at === -1 ? parts : parts.slice(0, at + 1);
  const [, last = "", tag, digest] =
    /^([^:@]+)(?::([\w][\w.-]{0,127}))?(?:@(sha256:[\da-f]{64}))?$/.exec(names.at(-1) ?? "") ?? [];
  const path = [...names.slice(0, -1), last];
  if (!/^[\w.-]+(?::\d+)?$/.test(registry) || !path.every((part) => NAME.test(part)))
    throw invalidArgument(`${shownAddress(address).slice(0, 300)} is not in a registry; expected ${EXPECTED}.`);
  const key = at === -1 ? "" : parts.slice(at + 1).join("/");
  return { registry, repository: path.join("/"), reference: digest ?? tag ?? "latest", key };
}

/** Checks if a registry is on this machine: such ones alone are spoken to without encryption, as Docker does it. */
export function isLocalRegistry({ registry }: OciLocation): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3})(?::\d+)?$/.test(registry);
}
