import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import type { Logger } from "../observability/logger.ts";
import type { RequestObserver } from "../observability/request-observer.ts";
import { errorBody, HttpError, hadLastAnswer, LINGER_MS } from "./http-errors.ts";
import { observeGarbage } from "./observed-request.ts";

/** Statuses for errors of Node's parser, by code; 400 for all others. */
const PARSER_STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** Code of Node's parser for a connection that ends in the middle of a request. */
const EARLY_END = "HPE_INVALID_EOF_STATE";

/** Message of Node's parser for an unknown version; the same code also means a wrong line end. */
const INVALID_VERSION = "Invalid HTTP version";

/** The first byte of TLS: a handshake record. */
const TLS_HANDSHAKE = 0x16;
const BEGINS_TLS =
  "a client of the HTTP port begins TLS, which this server does not speak without --tls-cert and --tls-key";

type ParserError = NodeJS.ErrnoException & { readonly reason?: string; readonly rawPacket?: Buffer };

/**
 * Answers requests that the server cannot handle: CONNECT, and bytes that the parser refuses. The first client that
 * speaks TLS is logged, since it does not understand the answer.
 */
export function refuseGarbage(server: Server, observer: RequestObserver, log: Logger): void {
  let hasWarned = false;
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    // Node has taken its own listener off the socket: a client that resets the connection would end the program.
    socket.on("error", () => {});
    answerRaw(socket, "405 Method Not Allowed", "CONNECT is not possible here; this is not a proxy.");
    observeGarbage(405, { socket }, observer);
  });
  server.on("clientError", (error: ParserError, socket: Duplex) => {
    if (error.rawPacket?.[0] === TLS_HANDSHAKE && !hasWarned) {
      hasWarned = true;
      log.warn(BEGINS_TLS);
    }
    observeGarbage(refuseBytes(error, socket), { socket, isEnd: error.code === EARLY_END }, observer);
  });
}

/** Answers bytes that are not an HTTP request; returns the status, undefined for a closed connection. */
function refuseBytes(error: ParserError, socket: Duplex): number | undefined {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return undefined;
  }
  if (hadLastAnswer(socket)) {
    socket.end();
    return undefined;
  }
  const isVersion = error.reason === INVALID_VERSION;
  const status = isVersion ? "505 HTTP Version Not Supported" : (PARSER_STATUS[error.code ?? ""] ?? "400 Bad Request");
  answerRaw(socket, status, `This is not a request that the server can read: ${status.slice(4)}.`);
  return Number.parseInt(status, 10);
}

/** Answers if Node has created no response, and closes. */
export function answerRaw(socket: Duplex, status: string, message: string): void {
  const body = errorBody(message);
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nX-Content-Type-Options: nosniff\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
  socket.end(Buffer.concat([Buffer.from(head), body]));
  // A request that was not whole holds its memory until then, and its client may never close.
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once("close", () => clearTimeout(timer));
}

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
  return refusal(505, `HTTP/${version} is not spoken here; send HTTP/1.1, or HTTP/2 from the first bytes on.`);
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
