import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { crc32c } from "../../../src/tensor/codecs/crc32c.ts";
import { setEnv } from "../set-env.ts";
import { startWeb } from "../start-web.ts";

/** An object; its generation is its place in the order of uploads. */
interface ToyObject {
  readonly body: Buffer;
  readonly generation: string;
}

/** A server with one bucket, which answers those who have one of its tokens. */
export class ToyGs {
  readonly objects = new Map<string, ToyObject>();
  /** Method, path, query and range of each request. */
  readonly requests: string[] = [];
  /** Undefined: the bucket is public. */
  token: string | undefined;
  /** The list is refused as if the account had only the right to read objects. */
  isUnlisted = false;
  pageSize = 1000;
  /** Composed objects have a CRC-32C alone. */
  isComposed = false;
  /** A reaction to a request for content instead of an answer; true = there was one. */
  fault: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  #bucket: string;
  #uploads = 0;

  /** Starts it until the test ends, in place of Google's, without any credentials. */
  static async start(bucket: string, objects: Readonly<Record<string, string | Buffer>>): Promise<ToyGs> {
    const toy = new ToyGs(bucket);
    for (const [key, body] of Object.entries(objects)) toy.put(key, body);
    const CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE = await startWeb((...exchange) => toy.#answer(...exchange));
    setEnv({
      CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE,
      CLOUDSDK_CONFIG: "none",
      NO_GCE_CHECK: "true",
      GOOGLE_APPLICATION_CREDENTIALS: "",
      STORAGE_EMULATOR_HOST: "",
    });
    return toy;
  }

  private constructor(bucket: string) {
    this.#bucket = bucket;
  }

  put(key: string, body: string | Buffer): void {
    this.objects.set(key, { body: Buffer.from(body as string), generation: String(++this.#uploads) });
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "", "http://toy");
    this.requests.push(`${request.method} ${request.url} ${request.headers.range ?? ""}`.trim());
    const [, isDownload, bucket, name] =
      /^(\/download)?\/storage\/v1\/b\/([^/]+)\/o(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
    const key = decodeURIComponent(name ?? "");
    const object = this.objects.get(key);
    const isAllowed = this.token === undefined || request.headers.authorization === `Bearer ${this.token}`;
    if (!isAllowed) refuse(response, 403, "The toy does not have storage.objects.get access.");
    else if (bucket !== this.#bucket) refuse(response, 404, "The specified bucket does not exist.");
    else if (name === undefined && this.isUnlisted)
      refuse(response, 403, "The toy does not have storage.objects.list access.");
    else if (name === undefined) this.#list(url.searchParams, response);
    else if (object === undefined) refuse(response, 404, "No such object");
    else if (isDownload === undefined) response.end(JSON.stringify(this.#describe(key, object)));
    else if (!this.fault?.(request, response)) send(object, url, { request, response });
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const prefix = query.get("prefix") ?? "";
    const isShallow = query.get("delimiter") === "/";
    const after = query.get("pageToken") ?? "";
    const keys = [...this.objects.keys()]
      .filter((key) => key.startsWith(prefix) && !(isShallow && key.slice(prefix.length).includes("/")) && key > after)
      .sort();
    const page = keys.slice(0, this.pageSize);
    const items = page.map((key) => this.#describe(key, this.objects.get(key) as ToyObject));
    // As Google's: an empty list has no member of that name.
    const list = {
      ...(items.length > 0 && { items }),
      ...(keys.length > page.length && { nextPageToken: page.at(-1) }),
    };
    response.end(JSON.stringify(list));
  }

  #describe(name: string, { body, generation }: ToyObject) {
    const crc = Buffer.alloc(4);
    crc.writeUInt32BE(crc32c(body));
    const md5Hash = createHash("md5").update(body).digest("base64");
    const checksums = { crc32c: crc.toString("base64"), ...(!this.isComposed && { md5Hash }) };
    return { name, size: String(body.length), generation, updated: "2026-01-02T03:04:05.678Z", ...checksums };
  }
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

function send({ body, generation }: ToyObject, { searchParams }: URL, { request, response }: Exchange): void {
  if (searchParams.get("ifGenerationMatch") !== generation) {
    refuse(response, 412, "At least one of the pre-conditions you specified did not hold.");
    return;
  }
  const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
  const range = { "content-range": `bytes ${start}-${body.length - 1}/${body.length}` };
  response.writeHead(start > 0 ? 206 : 200, { "content-length": body.length - start, ...(start > 0 && range) });
  response.end(body.subarray(start));
}

function refuse(response: ServerResponse, code: number, message: string): void {
  response.writeHead(code, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: { code, message, errors: [{ message }] } }));
}
