import type { IncomingMessage } from "node:http";
import { wholeEnvironment } from "../../machine/start-secrets.ts";
import { withoutEnd } from "../../text/without-end.ts";
import { firstOf } from "../environment.ts";
import { untilExpired } from "../expiring.ts";
import { httpRequest } from "../http/http-request.ts";
import { readJson } from "../http/read-body.ts";
import { statusError } from "../http/status-error.ts";
import { toContent } from "../http/to-content.ts";
import { listPages } from "../objects/list-pages.ts";
import type { Checksum, ListOptions, RemoteContent, RemoteFile, RemotePlace } from "../storage-client.ts";
import { findGsToken } from "./gs-token.ts";

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
export class GsPlace implements RemotePlace {
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
    // What is stored in gzip's format stays so, as its checksum.
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
