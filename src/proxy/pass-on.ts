import {
  type ClientRequest,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
  request as send,
} from "node:http";
import type { Socket } from "node:net";
import { ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import type { RequestPair } from "./answer-request.ts";
import { cutShort, HttpError, sendError } from "./http-errors.ts";
import { ObservedRequest } from "./observed-request.ts";
import { StreamSocket } from "./stream-socket.ts";

/** Opens a connection to the thread that answers, for a client's one; throws if there is no room for it. */
export type Connect = (client: Socket) => Socket;

/** Headers of one connection (RFC 9110 §7.6.1); the others are passed on, except that of trailers, which are not. */
const OWN: ReadonlySet<string> = new Set(["connection", "keep-alive", "proxy-connection", "upgrade"]);

/**
 * Passes requests on as they are to where another thread of this server answers them,
 * each over its own connection.
 */
export function passOn(connect: Connect, log: Logger): RequestListener {
  return (request: IncomingMessage, response: ServerResponse) => {
    const inner = begin(request, connect);
    if (inner === undefined) {
      sendError(new HttpError(400, "The request's head has characters that HTTP lacks."), { request, response, log });
      return;
    }
    ObservedRequest.recordOf(request).isPassedOn = true;
    inner.on("continue", () => response.writeContinue());
    inner.on("response", (answer) => answerWith(answer, { request, response }));
    inner.on("error", (cause) => {
      // What refuses a body does not read the rest of it; the end of a client that has left is none of the server.
      if (response.writableEnded || response.destroyed) return;
      if (response.headersSent) {
        cutShort(request, response);
        return;
      }
      // Its answer is this thread's.
      ObservedRequest.recordOf(request).isPassedOn = false;
      const hasNoRoom = cause instanceof ServingError;
      const reason = hasNoRoom ? cause : new ServingError("unavailable", "The server ends.", { cause });
      sendError(reason, { request, response, log });
    });
    response.on("close", () => inner.destroy());
    request.pipe(inner);
  };
}

/** Undefined for a head that Node's client refuses, while its server was told to take it (--insecure-http-parser). */
function begin(request: IncomingMessage, connect: Connect): ClientRequest | undefined {
  const { method = "GET", url = "/" } = request;
  const headers = [...withoutOwn(request.rawHeaders, "trailer"), ...oldOf(request), "connection", "close"];
  try {
    return send({
      createConnection: () => connect(StreamSocket.connectionOf(request.socket)),
      method,
      path: url,
      headers,
    });
  } catch {
    return undefined;
  }
}

/**
 * Proxies that say nothing of themselves may speak HTTP/1.0, which must not pass for a later one (RFC 9110 §7.6.3), and
 * which needs no Host.
 */
function oldOf({ httpVersion, headers }: IncomingMessage): readonly string[] {
  if (httpVersion !== "1.0") return [];
  return [...["via", "1.0 kserving"], ...(headers.host === undefined ? ["host", ""] : [])];
}

function answerWith(answer: IncomingMessage, { request, response }: RequestPair): void {
  const { statusCode = 500, statusMessage = "", rawHeaders } = answer;
  // How the body is framed is between the client and this thread.
  response.writeHead(statusCode, statusMessage, withoutOwn(rawHeaders, "transfer-encoding"));
  response.flushHeaders();
  answer.on("error", () => cutShort(request, response));
  answer.pipe(response);
}

function withoutOwn(rawHeaders: readonly string[], ...more: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at]!, rawHeaders[at + 1]!];
    const lower = name.toLowerCase();
    if (!OWN.has(lower) && !more.includes(lower)) kept.push(name, value);
  }
  return kept;
}
