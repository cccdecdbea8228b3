import type { IncomingMessage } from "node:http";
import { HttpError } from "./http-errors.ts";

const VERSIONS: ReadonlySet<string> = new Set(["1.0", "1.1"]);
/**
 * A host's name or address with an optional port: no characters that end an authority
 * or separate a list (RFC 9110 §7.2).
 */
const HOST = /^[^\s/?#@\\,]*$/;
/**
 * The connection is closed after a refused head, since the end of the request may be ambiguous.
 */
const CLOSE = { connection: "close" };

/** The error for a request whose head Node's parser accepts but this server does not; undefined for any other. */
export function requestRefusal(request: IncomingMessage): HttpError | undefined {
  const { httpVersion, headers } = request;
  if (!VERSIONS.has(httpVersion)) return badVersion(httpVersion);
  const hosts = countHosts(request.rawHeaders);
  if (hosts === 0 && httpVersion === "1.1") return refusal(400, "The request has no Host header; send one.");
  if (hosts > 1) return refusal(400, `The request has ${hosts} Host headers; send one.`);
  if (headers.host !== undefined && !HOST.test(headers.host)) {
    return refusal(400, "The Host header is not HOST or HOST:PORT.");
  }
  return encodingRefusal(headers["transfer-encoding"], httpVersion);
}

/** The error for an unsupported version (RFC 9110 §15.6.6). */
function badVersion(version: string): HttpError {
  return refusal(505, `HTTP/${version} is not spoken here; send HTTP/1.1, or gRPC to the gRPC port.`);
}

/** Names in lower case or not, as received. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count;
}

/** The parser accepts any list that ends in chunked, and decodes only chunked (RFC 9112 §6.1). */
function encodingRefusal(encoding: string | undefined, httpVersion: string): HttpError | undefined {
  if (encoding === undefined) return undefined;
  if (httpVersion === "1.0") return refusal(400, "HTTP/1.0 has no Transfer-Encoding; send Content-Length.");
  if (encoding.trim().toLowerCase() === "chunked") return undefined;
  return refusal(
    501,
    `Transfer-Encoding "${encoding.slice(0, 100)}" is not supported; send chunked, or Content-Length.`,
  );
}

function refusal(status: number, message: string): HttpError {
  return new HttpError(status, message, CLOSE);
}
