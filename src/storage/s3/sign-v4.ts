import { createHash, createHmac } from "node:crypto";

/** An access key of AWS, or of a server with the same interface. */
export interface S3Key {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** A request to be signed. */
export interface SignedRequest {
  readonly method: "GET" | "HEAD" | "PUT";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly region: string;
  readonly now: Date;
  /** SHA-256 of the body, in hexadecimal; default: there is none. */
  readonly sha256?: string;
}

/** SHA-256 of an empty body. */
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const ALGORITHM = "AWS4-HMAC-SHA256";

/**
 * The headers of a request for S3 with their signature: version 4, as
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html describes it.
 */
export function signV4(request: SignedRequest, { accessKeyId, secretAccessKey, sessionToken }: S3Key) {
  const { method, url, region, sha256 = EMPTY_SHA256 } = request;
  const time = request.now.toISOString().replace(/[-:]|\.\d+/g, "");
  const headers: Record<string, string> = {
    ...request.headers,
    host: url.host,
    "x-amz-content-sha256": sha256,
    "x-amz-date": time,
    ...(sessionToken !== undefined && { "x-amz-security-token": sessionToken }),
  };
  const names = Object.keys(headers).sort();
  const lines = names.map((name) => `${name}:${headers[name]?.trim()}\n`).join("");
  const canonical = [method, url.pathname, canonicalQuery(url), lines, names.join(";"), sha256].join("\n");
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`;
  const text = [ALGORITHM, time, scope, createHash("sha256").update(canonical).digest("hex")].join("\n");
  const key = scope.split("/").reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${secretAccessKey}`);
  const signature = hmac(key, text).toString("hex");
  const authorization = `${ALGORITHM} Credential=${accessKeyId}/${scope},SignedHeaders=${names.join(";")},Signature=${signature}`;
  return { ...headers, authorization };
}

/** A text as S3 expects it in paths and queries: everything but letters, digits and `-._~` is escaped. */
export function escapeS3(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

function canonicalQuery(url: URL): string {
  const pairs = Array.from(url.searchParams, ([name, value]) => `${escapeS3(name)}=${escapeS3(value)}`);
  return pairs.sort().join("&");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
