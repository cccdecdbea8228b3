import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { failedPrecondition, ServingError } from "../../errors.ts";
import { wholeEnvironment } from "../../platform/machine/start-secrets.ts";
import { type Environment, firstOf, isOn } from "../environment.ts";
import { type Expiring, ofMachine, postForm, readToken, untilExpired } from "../http/access-token.ts";
import { readBody, readJson, statusError } from "../http/answers.ts";
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
import { type AzLocation, connectionOf, parseAz } from "./az-location.ts";

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

/** One of the ways in which Azure's storage is told who asks; with none, requests are anonymous. */
export interface AzAccess extends Expiring {
  /** In base64. */
  readonly accountKey?: string | undefined;
  /** A shared access signature, as a query without a question mark. */
  readonly signature?: string | undefined;
  readonly token?: string;
}

const VERSION = "2021-12-02";
const IDENTITY = "Check AZURE_TENANT_ID, AZURE_CLIENT_ID and its secret or federated token";
const SCOPE = "https://storage.azure.com/.default";
/** Time within which a machine's own service answers, in milliseconds. */
const LOCAL_MS = 1000;

/**
 * Finds what gives access to an account: a signature in the address, the connection string, a key or signature in the
 * environment, a workload's or application's identity, the machine's; otherwise nothing, for public containers.
 */
async function findAzAccess({ signature }: Pick<AzLocation, "signature">, env: Environment): Promise<AzAccess> {
  if (signature !== undefined) return { signature };
  const { AccountKey, SharedAccessSignature } = connectionOf(env);
  const accountKey =
    AccountKey ?? firstOf(env, "AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY");
  if (accountKey !== undefined) return { accountKey };
  const shared = SharedAccessSignature ?? firstOf(env, "AZURE_STORAGE_SAS_TOKEN");
  if (shared !== undefined) return { signature: shared.replace(/^\?/, "") };
  const tenant = firstOf(env, "AZURE_TENANT_ID", "AZ_TENANT_ID");
  const client = firstOf(env, "AZURE_CLIENT_ID", "AZ_CLIENT_ID");
  if (tenant !== undefined && client !== undefined) return ofApplication(env, { tenant, client });
  if (isOn(env.AZURE_STORAGE_ANONYMOUS)) return {};
  return ofMachine(() => fromMachine(env, client));
}

interface Application {
  readonly tenant: string;
  readonly client: string;
}

/** https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow */
async function ofApplication(env: Environment, { tenant, client }: Application): Promise<AzAccess> {
  const authority = firstOf(env, "AZURE_AUTHORITY_HOST") ?? "https://login.microsoftonline.com";
  const file = firstOf(env, "AZURE_FEDERATED_TOKEN_FILE");
  const secret = firstOf(env, "AZURE_CLIENT_SECRET", "AZ_CLIENT_SECRET");
  if (secret === undefined && file === undefined)
    throw failedPrecondition(
      "AZURE_CLIENT_ID is set without AZURE_CLIENT_SECRET and AZURE_FEDERATED_TOKEN_FILE; expected one of them",
    );
  const proof: Record<string, string> =
    secret !== undefined
      ? { client_secret: secret }
      : {
          client_assertion: (await readFile(file as string, "utf8")).trim(),
          client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        };
  const url = new URL(`${authority.replace(/\/$/, "")}/${tenant}/oauth2/v2.0/token`);
  return readToken(
    await postForm(url, { grant_type: "client_credentials", client_id: client, scope: SCOPE, ...proof }, IDENTITY),
  );
}

/** https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token */
async function fromMachine(env: Environment, client: string | undefined): Promise<AzAccess> {
  const host = firstOf(env, "AZURE_POD_IDENTITY_AUTHORITY_HOST") ?? "http://169.254.169.254";
  const url = new URL(
    "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fstorage.azure.com%2F",
    host,
  );
  if (client !== undefined) url.searchParams.set("client_id", client);
  const signal = AbortSignal.timeout(5 * LOCAL_MS);
  const response = await httpRequest(url, { headers: { metadata: "true" }, signal, headMs: LOCAL_MS });
  if (response.statusCode !== 200) throw await statusError(response, IDENTITY);
  return readToken((await readJson(response)) as Record<string, unknown>);
}

/** A request to be sent with access. */
export interface AzRequest {
  readonly method: "GET" | "HEAD" | "PUT";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly account: string;
}

/**
 * Adds to a request what gives access: a signature to its URL, or headers. Shared keys sign as
 * https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key describes it.
 */
export function withAccess({ method, url, headers, account }: AzRequest, access: AzAccess): Record<string, string> {
  const own: Record<string, string> = { ...headers, "x-ms-date": new Date().toUTCString(), "x-ms-version": VERSION };
  if (access.token !== undefined) return { ...own, authorization: `Bearer ${access.token}` };
  if (access.signature !== undefined) url.search = [url.search.slice(1), access.signature].filter(Boolean).join("&");
  if (access.accountKey === undefined) return own;
  const lines = Object.entries(own)
    .filter(([name]) => name.startsWith("x-ms-"))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}:${value}`);
  const query = [...url.searchParams].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => `${name}:${value}`);
  const resource = [`/${account}${url.pathname}`, ...query];
  // The values of eleven usual headers, of which these are sent.
  const usual = ["", "", own["content-length"] ?? "", "", "", "", "", own["if-match"] ?? "", "", "", own.range ?? ""];
  const text = [method, ...usual, ...lines, ...resource].join("\n");
  const digest = createHmac("sha256", Buffer.from(access.accountKey, "base64")).update(text).digest("base64");
  return { ...own, authorization: `SharedKey ${account}:${digest}` };
}
