import type { IncomingMessage } from "node:http";
import { failedPrecondition, ServingError } from "../../errors.ts";
import { wholeEnvironment } from "../../platform/machine/start-secrets.ts";
import { untilExpired } from "../http/access-token.ts";
import { readBody, statusError } from "../http/answers.ts";
import { httpRequest } from "../http/http-request.ts";
import { decodeName } from "../local-name.ts";
import { type ListPage, listPages } from "../objects/find-files.ts";
import { xmlElements, xmlText } from "../objects/xml-elements.ts";
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
import {
  findS3Credentials,
  parseS3,
  readSharedProfile,
  type S3Location,
  type S3Settings,
  toS3Settings,
} from "./s3-settings.ts";
import { escapeS3, signV4 } from "./sign-v4.ts";

/** Buckets of Amazon S3 and of servers with its interface, such as MinIO. */
export const s3Client: StorageClient = {
  parse: (text) => {
    const { address, sha256 } = parseSha256(text);
    const location = parseS3(address);
    const { key } = location;
    const open = () => S3Place.of(location);
    return { title: address, key, open, ...(sha256 !== undefined && { sha256 }) };
  },
};

const ACCESS =
  "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or the profile or role), and that they may list and read the bucket";

interface Request {
  readonly method?: "GET" | "HEAD";
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** One bucket. Its region is learnt from the first answer if it is another than the settings say. */
class S3Place implements RemotePlace {
  static readonly #opened = new Map<string, S3Place>();

  readonly #bucket: string;
  readonly #endpoint: URL | undefined;
  readonly #access = untilExpired(findAccess);
  #region: string | undefined;

  private constructor({ bucket, endpoint }: S3Location) {
    this.#bucket = bucket;
    this.#endpoint = endpoint;
  }

  /** The same for all addresses of a bucket, so that credentials are looked for once. */
  static of(location: S3Location): S3Place {
    const name = `${location.endpoint?.origin ?? ""}/${location.bucket}`;
    const place = S3Place.#opened.get(name) ?? new S3Place(location);
    S3Place.#opened.set(name, place);
    return place;
  }

  list(prefix: string, options: ListOptions & { readonly shallow?: boolean }): Promise<RemoteFile[]> {
    const { signal, shallow = false } = options;
    const fixed = { "list-type": "2", "encoding-type": "url", prefix, ...(shallow && { delimiter: "/" }) };
    return listPages(options, async (next) => {
      const query: Record<string, string> = { ...fixed, ...(next !== undefined && { "continuation-token": next }) };
      const response = await this.#send({ query, signal });
      if (response.statusCode !== 200) throw await statusError(response, ACCESS);
      return parseS3List(await readBody(response));
    });
  }

  async stat(key: string, signal: AbortSignal): Promise<RemoteFile | undefined> {
    const response = await this.#send({ method: "HEAD", key, signal });
    response.resume();
    if (response.statusCode !== 200) return undefined;
    const { etag = "", "content-length": length, "last-modified": modified } = response.headers;
    return { key, etag, bytes: Number(length), changedMs: Date.parse(modified ?? "") || undefined };
  }

  async open({ key, etag }: RemoteFile, offset: number, signal: AbortSignal): Promise<RemoteContent> {
    const range: Record<string, string> = offset > 0 ? { range: `bytes=${offset}-` } : {};
    const response = await this.#send({
      key,
      headers: { "if-match": etag, "x-amz-checksum-mode": "ENABLED", ...range },
      signal,
    });
    if (![200, 206].includes(response.statusCode ?? 0)) throw await statusError(response, ACCESS);
    return toContent(response, checksumOf(response, etag));
  }

  /** Sends a request again to the region that the answer names, if the bucket is in another one. */
  async #send(request: Request): Promise<IncomingMessage> {
    const response = await this.#sendOnce(request);
    if (![301, 307, 400].includes(response.statusCode ?? 0) || this.#region !== undefined) return response;
    const body = request.method === "HEAD" ? "" : await readBody(response, 65_536);
    this.#region = (response.headers["x-amz-bucket-region"] as string | undefined) ?? xmlText(body, "Region");
    if (this.#region !== undefined) return this.#sendOnce(request);
    const words = xmlText(body, "Message") ?? "";
    throw failedPrecondition(
      `the server answers ${response.statusCode}${words && ` (${words})`}. Check AWS_REGION and the endpoint`,
    );
  }

  async #sendOnce({ method = "GET", key = "", query = {}, headers = {}, signal }: Request): Promise<IncomingMessage> {
    const { profile, key: accessKey } = await this.#access();
    const settings = toS3Settings(wholeEnvironment(), profile, this.#endpoint);
    const region = this.#region ?? settings.region;
    const url = this.#urlOf(key, { ...settings, region });
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    url.search = url.search.replaceAll("+", "%20");
    const plain = { ...headers, host: url.host };
    const signed =
      accessKey === undefined ? plain : signV4({ method, url, headers, region, now: new Date() }, accessKey);
    return httpRequest(url, { method, headers: signed, signal });
  }

  #urlOf(key: string, { endpoint, region, isPathStyle }: S3Settings): URL {
    // A certificate's star stands for one part of a name.
    const isInPath = isPathStyle || (endpoint === undefined && this.#bucket.includes("."));
    const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
    const base = endpoint ?? new URL(`https://s3.${region}.${domain}`);
    const path = key.split("/").map(escapeS3).join("/");
    const folder = base.pathname.replace(/\/$/, "");
    if (isInPath) return new URL(`${base.origin}${folder}/${this.#bucket}/${path}`);
    return new URL(`${base.protocol}//${this.#bucket}.${base.host}${folder}/${path}`);
  }
}

/** Time after which files with keys are read again, in milliseconds: they may have been replaced. */
const KEY_MS = 900_000;

async function findAccess() {
  const profile = await readSharedProfile(wholeEnvironment());
  return { expiresMs: Date.now() + KEY_MS, ...(await findS3Credentials(wholeEnvironment(), profile)), profile };
}

/** An ETag is the MD5 of what was uploaded at once and is not encrypted with a key of KMS. */
function checksumOf({ headers }: IncomingMessage, etag: string): Checksum | undefined {
  const sha256 = headers["x-amz-checksum-sha256"];
  if (typeof sha256 === "string" && !sha256.includes("-"))
    return { algorithm: "sha256", value: Buffer.from(sha256, "base64").toString("hex") };
  const crc32c = headers["x-amz-checksum-crc32c"];
  const isWhole = headers["x-amz-checksum-type"] !== "COMPOSITE";
  if (typeof crc32c === "string" && isWhole && !crc32c.includes("-")) return { algorithm: "crc32c", value: crc32c };
  const md5 = /^"?([\da-f]{32})"?$/i.exec(etag)?.[1];
  const isEncrypted = /kms|^AES256:c$/.test(String(headers["x-amz-server-side-encryption"] ?? ""));
  const isCustom = headers["x-amz-server-side-encryption-customer-algorithm"] !== undefined;
  return md5 === undefined || isEncrypted || isCustom ? undefined : { algorithm: "md5", value: md5 };
}

/** Reads an answer of ListObjectsV2, whose keys are encoded as in URLs; throws `unavailable` for anything else. */
export function parseS3List(xml: string): ListPage {
  if (!xml.includes("<ListBucketResult"))
    throw new ServingError("unavailable", "the server's answer is not a list of S3. Check the endpoint");
  const isEncoded = xmlText(xml, "EncodingType") === "url";
  const files = xmlElements(xml, "Contents").map((element) => toFile(element, isEncoded));
  const next = xmlText(xml, "IsTruncated") === "true" ? xmlText(xml, "NextContinuationToken") : undefined;
  return { files, next };
}

function toFile(xml: string, isEncoded: boolean): RemoteFile {
  const key = xmlText(xml, "Key") ?? "";
  const changedMs = Date.parse(xmlText(xml, "LastModified") ?? "");
  const size = xmlText(xml, "Size") ?? "";
  return {
    key: isEncoded ? decodeName(key.replaceAll("+", " ")) : key,
    bytes: /^\d+$/.test(size) ? Number(size) : undefined,
    etag: xmlText(xml, "ETag") ?? "",
    ...(Number.isFinite(changedMs) && { changedMs }),
  };
}
