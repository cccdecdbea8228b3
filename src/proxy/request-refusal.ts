import type { IncomingMessage } from "node:http";
import { HttpError } from "./http-errors.ts";

const VERSIONS: ReadonlySet<string> = new Set(["1.0", "1.1"]);
/** A host's name or address with an optional port: nothing that ends an authority, or divides a list (RFC 9110 §7.2). */
const HOST = /^[^\s/?#@\\,]*$/;
/**
 * A client that is refused for the head of a request sends no second one on the connection: its end may be in doubt.
 */
const CLOSE = { connection: "close" };

/** The refusal of a request whose head Node's parser accepts but we do not; undefined for any other. */
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

/** The refusal of a version that is not spoken here (RFC 9110 §15.6.6). */
function badVersion(version: string): HttpError {
  return refusal(505, `HTTP/${version} is not spoken here; send HTTP/1.1, or gRPC to the gRPC port.`);
}

/** In lower case or not, as they came. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count;
}

/** The parser takes any list that ends in chunked, and undoes nothing but that (RFC 9112 §6.1). */
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
