import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { failedPrecondition, reasonText } from "../../errors.ts";
import { homeFolder } from "../../machine/home-folder.ts";
import { type Environment, firstOf, isOn } from "../environment.ts";
import { type Expiring, ofMachine } from "../expiring.ts";
import { httpRequest } from "../http/http-request.ts";
import { postForm } from "../http/post-form.ts";
import { readJson } from "../http/read-body.ts";
import { readToken } from "../http/read-token.ts";
import { statusError } from "../http/status-error.ts";

/** A token for Google's storage; without one, requests are anonymous. */
export interface GsToken extends Expiring {
  readonly token?: string;
}

const SCOPE = "https://www.googleapis.com/auth/devstorage.read_only";
const TOKEN_URI = "https://oauth2.googleapis.com/token";
const ACCESS = "Check the key of GOOGLE_APPLICATION_CREDENTIALS";
/** Time within which a machine's own service answers, in milliseconds. */
const LOCAL_MS = 1000;

/**
 * Finds a token as Google's own clients do: the key file of GOOGLE_APPLICATION_CREDENTIALS, the login of gcloud, the
 * metadata server; otherwise none, for public buckets.
 */
export async function findGsToken(env: Environment): Promise<GsToken> {
  if (isOn(env.CLOUDSDK_AUTH_DISABLE_CREDENTIALS) || firstOf(env, "STORAGE_EMULATOR_HOST") !== undefined) return {};
  const named = firstOf(env, "GOOGLE_APPLICATION_CREDENTIALS");
  const key = await readKey(
    named ?? join(configFolder(env), "application_default_credentials.json"),
    named !== undefined,
  );
  if (key !== undefined) return fromKey(key);
  return isOn(env.NO_GCE_CHECK) ? {} : ofMachine(() => fromMachine(env));
}

type Key = Readonly<Record<string, string>>;

function configFolder(env: Environment): string {
  if (process.platform === "win32") return join(env.APPDATA ?? "", "gcloud");
  return firstOf(env, "CLOUDSDK_CONFIG") ?? join(homeFolder(), ".config", "gcloud");
}

async function readKey(path: string, isNamed: boolean): Promise<Key | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Key;
  } catch (reason) {
    if (!isNamed) return undefined;
    const why = reason instanceof SyntaxError ? "it is not JSON" : (reasonText(reason).split(",", 1)[0] ?? "");
    throw failedPrecondition(`the file of GOOGLE_APPLICATION_CREDENTIALS cannot be read: ${why}`, reason);
  }
}

/** https://developers.google.com/identity/protocols/oauth2/service-account, and the refresh of a user's login. */
async function fromKey(key: Key): Promise<GsToken> {
  const uri = new URL(key.token_uri ?? TOKEN_URI);
  if (key.type === "authorized_user") {
    const { client_id = "", client_secret = "", refresh_token = "" } = key;
    return ask(uri, { grant_type: "refresh_token", client_id, client_secret, refresh_token });
  }
  if (key.type !== "service_account")
    throw failedPrecondition(
      `the file of GOOGLE_APPLICATION_CREDENTIALS is of the type "${key.type}", which is not supported; expected a service account's key, a login of gcloud (authorized_user), or no file where the machine has an account`,
    );
  const { importPKCS8, SignJWT } = await import("jose");
  const secret = await importPKCS8(key.private_key ?? "", "RS256").catch((cause: unknown) => {
    throw failedPrecondition("the private_key of the file of GOOGLE_APPLICATION_CREDENTIALS cannot be used", cause);
  });
  const assertion = await new SignJWT({ scope: SCOPE })
    .setProtectedHeader({ alg: "RS256", ...(key.private_key_id !== undefined && { kid: key.private_key_id }) })
    .setIssuer(key.client_email ?? "")
    .setAudience(uri.href)
    .setIssuedAt()
    .setExpirationTime("1h")
    .sign(secret);
  return ask(uri, { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion });
}

async function ask(uri: URL, form: Readonly<Record<string, string>>): Promise<GsToken> {
  return readToken(await postForm(uri, form, ACCESS));
}

/** https://cloud.google.com/compute/docs/metadata/overview */
async function fromMachine(env: Environment): Promise<GsToken> {
  const host = firstOf(env, "GCE_METADATA_HOST") ?? "metadata.google.internal";
  const url = new URL(`http://${host}/computeMetadata/v1/instance/service-accounts/default/token`);
  const signal = AbortSignal.timeout(5 * LOCAL_MS);
  const response = await httpRequest(url, { headers: { "metadata-flavor": "Google" }, signal, headMs: LOCAL_MS });
  if (response.statusCode !== 200) throw await statusError(response, ACCESS);
  return readToken((await readJson(response)) as Record<string, unknown>);
}
