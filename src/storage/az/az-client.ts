import type { IncomingMessage } from "node:http";
import { ServingError } from "../../errors.ts";
import { wholeEnvironment } from "../../platform/machine/start-secrets.ts";
import { untilExpired } from "../http/access-token.ts";
import { readBody, statusError } from "../http/answers.ts";
import { httpRequest } from "../http/http-request.ts";
import { decodeName } from "../local-name.ts";
import { listPages } from "../objects/find-files.ts";
import { xmlElements, xmlText } from "../objects/xml-elements.ts";
import { parseSha256, shownAddress } from "../remote-address.ts";
import {
  type Checksum,
  type ListOptions,
  type RemoteContent,
  type RemoteFile,
  type RemotePlace,
  type StorageClient,
  toContent,
} from "../storage-client.ts";
import { findAzAccess, withAccess } from "./az-access.ts";
import { type AzLocation, parseAz } from "./az-location.ts";

/** Containers of Azure Blob Storage. */
export const azClient: StorageClient = {
  parse: (text) => {
    const { address, sha256 } = parseSha256(text);
    const location = parseAz(address, wholeEnvironment());
    const open = () => AzPlace.of(location);
    return { title: shownAddress(address), key: location.key, open, ...(sha256 !== undefined && { sha256 }) };
  },
};

const ACCESS =
  "Set AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or give the identity the role Storage Blob Data Reader";

interface Asked {
  readonly method?: "GET" | "HEAD";
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** One container. */
class AzPlace implements RemotePlace {
  static readonly #opened = new Map<string, AzPlace>();

  readonly #location: AzLocation;
  readonly #access: () => ReturnType<typeof findAzAccess>;

  private constructor(location: AzLocation) {
    this.#location = location;
    this.#access = untilExpired(() => findAzAccess(location, wholeEnvironment()));
  }

  static of(location: AzLocation): AzPlace {
    const { endpoint, container, signature = "" } = location;
    const name = `${endpoint}/${container}?${signature}`;
    const place = AzPlace.#opened.get(name) ?? new AzPlace(location);
    AzPlace.#opened.set(name, place);
    return place;
  }

  list(prefix: string, options: ListOptions & { readonly shallow?: boolean }): Promise<RemoteFile[]> {
    const { signal, shallow = false } = options;
    const fixed = { restype: "container", comp: "list", prefix, ...(shallow && { delimiter: "/" }) };
    return listPages(options, async (marker) => {
      const query: Record<string, string> = { ...fixed, ...(marker !== undefined && { marker }) };
      const response = await this.#send({ query, signal });
      if (response.statusCode !== 200) throw await this.#listError(response);
      const xml = await readBody(response);
      if (!xml.includes("<EnumerationResults"))
        throw new ServingError("unavailable", "the server's answer is not a list of Azure's. Check the endpoint");
      return { files: xmlElements(xml, "Blob").map(toFile), next: xmlText(xml, "NextMarker") || undefined };
    });
  }

  /** Azure does not tell strangers whether a container is there, of which single files may be public. */
  async #listError(response: IncomingMessage): Promise<ServingError> {
    const { accountKey, signature, token } = await this.#access();
    const isStranger = (accountKey ?? signature ?? token) === undefined;
    const error = await statusError(response, ACCESS);
    if (!isStranger || !["not_found", "failed_precondition"].includes(error.code)) return error;
    return new ServingError("permission_denied", error.message.replace(/\. Check the address.*$/, `. ${ACCESS}`));
  }

  async stat(key: string, signal: AbortSignal): Promise<RemoteFile | undefined> {
    const response = await this.#send({ method: "HEAD", key, signal });
    response.resume();
    if (response.statusCode !== 200) return undefined;
    const { etag = "", "content-length": length, "last-modified": modified } = response.headers;
    return { key, etag, bytes: Number(length), changedMs: Date.parse(modified ?? "") || undefined };
  }

  async open({ key, etag, checksum }: RemoteFile, offset: number, signal: AbortSignal): Promise<RemoteContent> {
    const match = /^"/.test(etag) ? etag : `"${etag}"`;
    const headers = { "if-match": match, ...(offset > 0 && { range: `bytes=${offset}-` }) };
    const response = await this.#send({ key, headers, signal });
    if (![200, 206].includes(response.statusCode ?? 0)) throw await statusError(response, ACCESS);
    return toContent(response, checksum);
  }

  async #send({ method = "GET", key = "", query = {}, headers = {}, signal }: Asked): Promise<IncomingMessage> {
    const { endpoint, container, account } = this.#location;
    const path = key.split("/").map(encodeURIComponent).join("/");
    const url = new URL(`${endpoint}/${container}${path === "" ? "" : `/${path}`}?${new URLSearchParams(query)}`);
    const signed = withAccess({ method, url, headers, account }, await this.#access());
    return httpRequest(url, { method, headers: signed, signal });
  }
}

/** https://learn.microsoft.com/rest/api/storageservices/list-blobs */
function toFile(xml: string): RemoteFile {
  const changedMs = Date.parse(xmlText(xml, "Last-Modified") ?? "");
  const size = xmlText(xml, "Content-Length") ?? "";
  const checksum = md5Of(xmlText(xml, "Content-MD5"));
  // Names with characters that XML cannot have are encoded.
  const name = xmlText(xml, "Name") ?? "";
  return {
    key: /<Name\s+Encoded="true"/.test(xml) ? decodeName(name) : name,
    bytes: /^\d+$/.test(size) ? Number(size) : undefined,
    etag: xmlText(xml, "Etag") ?? "",
    ...(Number.isFinite(changedMs) && { changedMs }),
    ...(checksum && { checksum }),
  };
}

/** Blobs that were uploaded in blocks have the MD5 that the uploading program gave, or none. */
function md5Of(base64: string | undefined): Checksum | undefined {
  if (base64 === undefined || base64 === "") return undefined;
  return { algorithm: "md5", value: Buffer.from(base64, "base64").toString("hex") };
}
