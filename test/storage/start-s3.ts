import { createHash, createHmac } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { startWeb } from "./start-web.ts";

/** A reaction to a request instead of an answer; true = there was one. */
type Fault = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A server with one bucket, which answers only what is signed with its key. */
export interface ToyS3 {
  readonly endpoint: string;
  /** Objects by key. */
  readonly objects: Map<string, Uint8Array | string>;
  /** Method, path and query of each request. */
  readonly requests: string[];
  fault: Fault | undefined;
  /** Objects in one part of a list. */
  pageSize: number;
  /** The signatures of requests are checked; others are refused. */
  isPublic: boolean;
}

export const TOY_KEY = { id: "TOYKEY", secret: "toy/secret+key" };

/** Starts it until the test ends, on a port of its own. */
export async function startS3(bucket: string, objects: Readonly<Record<string, Uint8Array | string>>): Promise<ToyS3> {
  const endpoint = await startWeb((request, response) => answer(toy, bucket, { request, response }));
  const toy: ToyS3 = {
    endpoint,
    objects: new Map(Object.entries(objects)),
    requests: [],
    fault: undefined,
    pageSize: 1000,
    isPublic: false,
  };
  return toy;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

function answer(toy: ToyS3, bucket: string, { request, response }: Exchange): void {
  const url = new URL(request.url ?? "", toy.endpoint);
  toy.requests.push(`${request.method} ${decodeURIComponent(url.pathname)}${url.search}`);
  if (toy.fault?.(request, response)) return;
  const problem = toy.isPublic || isSigned(request, url) ? undefined : "SignatureDoesNotMatch";
  const [, name, ...parts] = url.pathname.split("/").map(decodeURIComponent);
  const key = parts.join("/");
  const object = toy.objects.get(key);
  if (problem !== undefined) refuse(response, 403, problem);
  else if (name !== bucket) refuse(response, 404, "NoSuchBucket");
  else if (key === "") list(toy, url, response);
  else if (object === undefined) refuse(response, 404, "NoSuchKey");
  else send(Buffer.from(object as string), { request, response });
}

/**
 * As https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html says, for what came over the wire.
 */
function isSigned(request: IncomingMessage, url: URL): boolean {
  const [, date, region, names = "", signature] =
    /^AWS4-HMAC-SHA256 Credential=TOYKEY\/(\d{8})\/([\w-]+)\/s3\/aws4_request, ?SignedHeaders=([\w;-]+), ?Signature=(\w+)$/.exec(
      request.headers.authorization ?? "",
    ) ?? [];
  if (date === undefined || !names.includes("host")) return false;
  const query = url.search.slice(1).split("&").filter(Boolean).sort();
  const headers = names.split(";").map((name) => `${name}:${request.headers[name]}\n`);
  const hash = String(request.headers["x-amz-content-sha256"]);
  const canonical = [request.method, url.pathname, query.join("&"), headers.join(""), names, hash].join("\n");
  const digest = createHash("sha256").update(canonical).digest("hex");
  const scope = `${date}/${region}/s3/aws4_request`;
  const text = `AWS4-HMAC-SHA256\n${request.headers["x-amz-date"]}\n${scope}\n${digest}`;
  let key: Buffer = Buffer.from(`AWS4${TOY_KEY.secret}`);
  for (const part of [...scope.split("/"), text]) key = createHmac("sha256", key).update(part).digest();
  return key.toString("hex") === signature;
}

function list({ objects, pageSize }: ToyS3, { searchParams }: URL, response: ServerResponse): void {
  const prefix = searchParams.get("prefix") ?? "";
  const isShallow = searchParams.get("delimiter") === "/";
  const after = searchParams.get("continuation-token") ?? "";
  const isListed = (key: string) =>
    key.startsWith(prefix) && key > after && !(isShallow && key.slice(prefix.length).includes("/"));
  const keys = [...objects.keys()].filter(isListed).sort();
  const page = keys.slice(0, pageSize);
  const contents = page.map((key) => {
    const body = Buffer.from(objects.get(key) as string);
    const etag = createHash("md5").update(body).digest("hex");
    return `<Contents><Key>${encodeURIComponent(key)}</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><ETag>&quot;${etag}&quot;</ETag><Size>${body.length}</Size></Contents>`;
  });
  const isCut = page.length < keys.length;
  const next = isCut ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "";
  const xml = `<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><EncodingType>url</EncodingType><IsTruncated>${isCut}</IsTruncated>${next}${contents.join("")}</ListBucketResult>`;
  response.writeHead(200, { "content-type": "application/xml" }).end(xml);
}

function send(body: Buffer, { request, response }: Exchange): void {
  const etag = `"${createHash("md5").update(body).digest("hex")}"`;
  const wanted = request.headers["if-match"];
  if (wanted !== undefined && wanted !== etag) {
    refuse(response, 412, "PreconditionFailed");
    return;
  }
  const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
  const rest = body.subarray(start);
  const range = { "content-range": `bytes ${start}-${body.length - 1}/${body.length}` };
  response.writeHead(start > 0 ? 206 : 200, { etag, "content-length": rest.length, ...(start > 0 && range) });
  response.end(request.method === "HEAD" ? undefined : rest);
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { "content-type": "application/xml" });
  response.end(`<Error><Code>${code}</Code><Message>The toy says ${code}.</Message></Error>`);
}
