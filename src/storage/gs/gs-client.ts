import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { failedPrecondition, invalidArgument, reasonText } from "../../errors.ts";
import { wholeEnvironment } from "../../platform/machine/start-secrets.ts";
import { homeFolder } from "../../platform/machine/system.ts";
import { withoutEnd } from "../../platform/text/shorten.ts";
import { type Environment, firstOf, isOn } from "../environment.ts";
import { type Expiring, ofMachine, postForm, readToken, untilExpired } from "../http/access-token.ts";
import { readJson, statusError } from "../http/answers.ts";
import { httpRequest } from "../http/http-request.ts";
import { listPages } from "../objects/find-files.ts";
import { parseSha256 } from "../remote-address.ts";
import {
  type Checksum,
  type ListOptions,
  type RemoteContent,
  type RemoteFile,
  type RemotePlace,
  type StorageClient,
  toContent,
} from "../storage-client.ts";

/** Buckets of Google Cloud Storage. */
export const gsClient: StorageClient = {
  parse: (text) => {
    const { address, sha256 } = parseSha256(text);
    const [bucket = "", ...parts] = withoutEnd(address.slice("gs://".length), "/").split("/");
    if (!/^[\w.-]{3,222}$/.test(bucket))
      throw invalidArgument(`${address.slice(0, 200)} has no bucket's name; expected gs://BUCKET/PATH.`);
    const key = parts.filter((part) => part !== "").join("/");
    const open = () => GsPlace.of(bucket);
    return { title: address, key, open, ...(sha256 !== undefined && { sha256 }) };
  },
};

const ACCESS =
  "Set GOOGLE_APPLICATION_CREDENTIALS to the key file of an account that may list and read the bucket (Storage Object Viewer)";

/** An object as the JSON interface has it: https://cloud.google.com/storage/docs/json_api/v1/objects */
interface GsObject {
  readonly name: string;
  readonly size?: string;
  readonly generation?: string;
  readonly updated?: string;
  readonly md5Hash?: string;
  readonly crc32c?: string;
}

interface GsList {
  readonly items?: readonly GsObject[];
  readonly nextPageToken?: string;
}

const FIELDS = "name,size,generation,updated,md5Hash,crc32c";

/** One bucket. */
class GsPlace implements RemotePlace {
  static readonly #opened = new Map<string, GsPlace>();

  readonly #bucket: string;
  readonly #token = untilExpired(() => findGsToken(wholeEnvironment()));

  private constructor(bucket: string) {
    this.#bucket = bucket;
  }

  static of(bucket: string): GsPlace {
    const place = GsPlace.#opened.get(bucket) ?? new GsPlace(bucket);
    GsPlace.#opened.set(bucket, place);
    return place;
  }

  list(prefix: string, options: ListOptions & { readonly shallow?: boolean }): Promise<RemoteFile[]> {
    const { signal, shallow = false } = options;
    const fixed = { prefix, fields: `items(${FIELDS}),nextPageToken`, ...(shallow && { delimiter: "/" }) };
    return listPages(options, async (next) => {
      const query: Record<string, string> = { ...fixed, ...(next !== undefined && { pageToken: next }) };
      const response = await this.#send(`/storage/v1/b/${this.#bucket}/o`, { query, signal });
      if (response.statusCode !== 200) throw await statusError(response, ACCESS);
      const { items = [], nextPageToken } = (await readJson(response)) as GsList;
      return { files: items.map(toFile), next: nextPageToken };
    });
  }

  async stat(key: string, signal: AbortSignal): Promise<RemoteFile | undefined> {
    const path = `/storage/v1/b/${this.#bucket}/o/${encodeURIComponent(key)}`;
    const response = await this.#send(path, { query: { fields: FIELDS }, signal });
    if (response.statusCode === 200) return toFile((await readJson(response)) as GsObject);
    response.resume();
    return undefined;
  }

  /** A generation is one content of an object. */
  async open({ key, etag, checksum }: RemoteFile, offset: number, signal: AbortSignal): Promise<RemoteContent> {
    const path = `/download/storage/v1/b/${this.#bucket}/o/${encodeURIComponent(key)}`;
    const query = { alt: "media", ifGenerationMatch: etag };
    // Content that is stored in gzip's format stays so, as its checksum.
    const headers = { "accept-encoding": "gzip", ...(offset > 0 && { range: `bytes=${offset}-` }) };
    const response = await this.#send(path, { query, headers, signal });
    if (![200, 206].includes(response.statusCode ?? 0)) throw await statusError(response, ACCESS);
    return toContent(response, checksum);
  }

  async #send(path: string, { query, headers, signal }: Asked): Promise<IncomingMessage> {
    const { token } = await this.#token();
    const url = new URL(`${endpoint()}${path}?${new URLSearchParams(query)}`);
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return httpRequest(url, { headers: { ...headers, ...authorization }, signal });
  }
}

interface Asked {
  readonly query: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Google's, one in a private network as gcloud takes it, or the emulator's, which may be given without a scheme. */
function endpoint(): string {
  const emulator = firstOf(wholeEnvironment(), "STORAGE_EMULATOR_HOST");
  const own = firstOf(wholeEnvironment(), "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE");
  if (emulator === undefined) return own === undefined ? "https://storage.googleapis.com" : new URL(own).origin;
  return withoutEnd(/^https?:\/\//.test(emulator) ? emulator : `http://${emulator}`, "/");
}

function toFile({ name, size, generation = "", updated = "", md5Hash, crc32c }: GsObject): RemoteFile {
  const changedMs = Date.parse(updated);
  const checksum = checksumOf(md5Hash, crc32c);
  return {
    key: name,
    bytes: size === undefined ? undefined : Number(size),
    etag: generation,
    ...(Number.isFinite(changedMs) && { changedMs }),
    ...(checksum && { checksum }),
  };
}

/** Objects that were composed of others have no MD5. */
function checksumOf(md5: string | undefined, crc32c: string | undefined): Checksum | undefined {
  if (md5 !== undefined) return { algorithm: "md5", value: Buffer.from(md5, "base64").toString("hex") };
  return crc32c === undefined ? undefined : { algorithm: "crc32c", value: crc32c };
}

/** A token for Google's storage; without one, requests are anonymous. */
interface GsToken extends Expiring {
  readonly token?: string;
}

const SCOPE = "https://www.googleapis.com/auth/devstorage.read_only";
const TOKEN_URI = "https://oauth2.googleapis.com/token";
const KEY_ACCESS = "Check the key of GOOGLE_APPLICATION_CREDENTIALS";
/** Time within which a machine's own service answers, in milliseconds. */
const LOCAL_MS = 1000;

/**
 * Finds a token as Google's own clients do: the key file of GOOGLE_APPLICATION_CREDENTIALS, the login of gcloud, the
 * metadata server; otherwise none, for public buckets.
 */
async function findGsToken(env: Environment): Promise<GsToken> {
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
  return readToken(await postForm(uri, form, KEY_ACCESS));
}

/** https://cloud.google.com/compute/docs/metadata/overview */
async function fromMachine(env: Environment): Promise<GsToken> {
  const host = firstOf(env, "GCE_METADATA_HOST") ?? "metadata.google.internal";
  const url = new URL(`http://${host}/computeMetadata/v1/instance/service-accounts/default/token`);
  const signal = AbortSignal.timeout(5 * LOCAL_MS);
  const response = await httpRequest(url, { headers: { "metadata-flavor": "Google" }, signal, headMs: LOCAL_MS });
  if (response.statusCode !== 200) throw await statusError(response, KEY_ACCESS);
  return readToken((await readJson(response)) as Record<string, unknown>);
}
