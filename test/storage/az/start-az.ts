import { createHash, createHmac } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setEnv } from "../set-env.ts";
import { startWeb } from "../start-web.ts";

/** Account and key of a toy; the key is in base64, as Azure's. */
export const TOY_ACCOUNT = { name: "toyaccount", key: Buffer.from("toy account key").toString("base64") };

/** A server with one container, which answers those who may read it. */
export class ToyAz {
  readonly objects = new Map<string, string | Buffer>();
  /** Method, path, query and range of each request. */
  readonly requests: string[] = [];
  /**
   * The readers: those with the account's key, with the signature `sig=toy%2Fsig`, with
   * the token `t0ken`, or all, files alone.
   */
  allows: "key" | "signature" | "token" | "files" = "key";
  pageSize = 5000;
  endpoint = "";
  #container: string;

  /** Starts it until the test ends; `az://` is read from it, without any credentials. */
  static async start(container: string, objects: Readonly<Record<string, string | Buffer>>): Promise<ToyAz> {
    const toy = new ToyAz(container);
    for (const [key, body] of Object.entries(objects)) toy.objects.set(key, body);
    toy.endpoint = await startWeb((request, response) => toy.#answer(request, response));
    setEnv({
      AZURE_STORAGE_ACCOUNT: TOY_ACCOUNT.name,
      AZURE_STORAGE_BLOB_ENDPOINT: toy.endpoint,
      AZURE_STORAGE_CONNECTION_STRING: "",
      AZURE_STORAGE_ANONYMOUS: "true",
    });
    return toy;
  }

  private constructor(container: string) {
    this.#container = container;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "", this.endpoint);
    this.requests.push(`${request.method} ${request.url} ${request.headers.range ?? ""}`.trim());
    const [, container, ...parts] = url.pathname.split("/").map(decodeURIComponent);
    const isList = url.searchParams.get("comp") === "list";
    const body = this.objects.get(parts.join("/"));
    if (request.headers["x-ms-version"] === undefined) refuse(response, 400, "MissingRequiredHeader");
    else if (this.allows === "files" && isList) refuse(response, 404, "ResourceNotFound");
    else if (!this.#isAllowed(request, url)) refuse(response, 403, "AuthenticationFailed");
    else if (container !== this.#container) refuse(response, 404, "ContainerNotFound");
    else if (isList) this.#list(url.searchParams, response);
    else if (body === undefined) refuse(response, 404, "BlobNotFound");
    else send(Buffer.from(body as string), request, response);
  }

  #isAllowed({ method, headers }: IncomingMessage, { pathname, searchParams }: URL): boolean {
    if (this.allows === "files") return true;
    if (this.allows === "signature") return searchParams.get("sig") === "toy/sig";
    if (this.allows === "token") return headers.authorization === "Bearer t0ken";
    return (
      headers.authorization ===
      `SharedKey ${TOY_ACCOUNT.name}:${signatureOf({ method, headers, pathname, searchParams })}`
    );
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const prefix = query.get("prefix") ?? "";
    const isShallow = query.get("delimiter") === "/";
    const after = query.get("marker") ?? "";
    const keys = [...this.objects.keys()]
      .filter((key) => key.startsWith(prefix) && !(isShallow && key.slice(prefix.length).includes("/")) && key > after)
      .sort();
    const page = keys.slice(0, this.pageSize);
    const blobs = page.map((key) => blobXml(key, Buffer.from(this.objects.get(key) as string)));
    const next = keys.length > page.length ? page.at(-1) : "";
    response.end(
      `\ufeff<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="c"><Blobs>${blobs.join("")}</Blobs><NextMarker>${next}</NextMarker></EnumerationResults>`,
    );
  }
}

interface Signed {
  readonly method: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly pathname: string;
  readonly searchParams: URLSearchParams;
}

/**
 * As https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key says, for what came over the wire.
 */
function signatureOf({ method, headers, pathname, searchParams }: Signed): string {
  const usual = [
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
  ].map((name) => headers[name] ?? "");
  const own = Object.keys(headers)
    .filter((name) => name.startsWith("x-ms-"))
    .sort();
  const query = [...searchParams.keys()].sort().map((name) => `${name}:${searchParams.get(name)}`);
  const lines = [
    method,
    ...usual,
    ...own.map((name) => `${name}:${headers[name]}`),
    `/${TOY_ACCOUNT.name}${pathname}`,
    ...query,
  ];
  return createHmac("sha256", Buffer.from(TOY_ACCOUNT.key, "base64")).update(lines.join("\n")).digest("base64");
}

function blobXml(key: string, body: Buffer): string {
  const name = key.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const md5 = createHash("md5").update(body).digest("base64");
  return `<Blob><Name>${name}</Name><Properties><Last-Modified>Fri, 02 Jan 2026 03:04:05 GMT</Last-Modified><Etag>0x${hashOf(body)}</Etag><Content-Length>${body.length}</Content-Length><Content-MD5>${md5}</Content-MD5></Properties><OrMetadata /></Blob>`;
}

function hashOf(body: Buffer): string {
  return createHash("sha1").update(body).digest("hex").slice(0, 16);
}

function send(body: Buffer, request: IncomingMessage, response: ServerResponse): void {
  const etag = `"0x${hashOf(body)}"`;
  if (![undefined, etag].includes(request.headers["if-match"])) {
    refuse(response, 412, "ConditionNotMet");
    return;
  }
  const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
  const range = { "content-range": `bytes ${start}-${body.length - 1}/${body.length}` };
  response.writeHead(start > 0 ? 206 : 200, { etag, "content-length": body.length - start, ...(start > 0 && range) });
  response.end(request.method === "HEAD" ? undefined : body.subarray(start));
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { "content-type": "application/xml" });
  response.end(
    `\ufeff<?xml version="1.0" encoding="utf-8"?><Error><Code>${code}</Code><Message>The toy says ${code}.\nRequestId:1\nTime:2026</Message></Error>`,
  );
}
