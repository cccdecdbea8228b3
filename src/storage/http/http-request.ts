import { type Agent, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { ServingError, systemCode } from "../../errors.ts";

/** Time within which the head of an answer has to come, in milliseconds. */
const HEAD_MS = 30_000;
/** Time within which a piece of the body has to come, in milliseconds, and over which its rate is measured. */
const IDLE_MS = 30_000;
/** Bytes per second that come at least while they are waited for: far below any network that models come by. */
const MIN_RATE = 1024;

/** One request. */
export interface HttpRequest {
  readonly method?: "GET" | "HEAD" | "POST" | "PUT";
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Uint8Array;
  readonly signal: AbortSignal;
  readonly lookup?: LookupFunction;
  /** Connections to use; false for a connection that only this request has, default: one that is kept may be used. */
  readonly agent?: Agent | false;
  /** The client's certificate, and the check of the server's. */
  readonly tls?: Pick<ConnectionOptions, "cert" | "key" | "rejectUnauthorized">;
  /** Time within which the head of the answer has to come, in milliseconds. */
  readonly headMs?: number;
}

/**
 * Sends a request and resolves with the head of its answer, whatever its status; the body's bytes come as they are.
 * Rejects with the signal's reason, or with Node's error of a server that cannot be reached.
 */
export function sendHttp(url: URL, request: HttpRequest): Promise<IncomingMessage> {
  const { body, tls, headMs, signal, ...options } = request;
  return new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const outgoing = send(url, { ...options, ...tls, signal });
    const late = () => outgoing.destroy(new Error(`no answer within ${Number(headMs) / 1000} s`));
    const timer = headMs === undefined ? undefined : setTimeout(late, headMs);
    let isAnswered = false;
    outgoing.on("error", (cause) => {
      clearTimeout(timer);
      // On a connection that was used before, Node tells the request too of a reset amid the body, which fails anyway.
      if (isAnswered) return;
      // A server ends connections that it has not heard on for a while, perhaps just now.
      const isSafe = ["GET", "HEAD"].includes(options.method ?? "GET");
      if (outgoing.reusedSocket && isReset(cause) && isSafe && !signal.aborted) resolve(sendHttp(url, request));
      else reject(signal.aborted ? signal.reason : cause);
    });
    outgoing.on("response", (response) => {
      isAnswered = true;
      clearTimeout(timer);
      resolve(response);
    });
    outgoing.end(body);
  });
}

/**
 * Sends a request as {@link sendHttp} does. Throws `unavailable` for a server that cannot be reached or does not answer
 * in time: 30 s unless another time is given. A body that stalls fails, as does one that comes too slowly
 * ({@link SlowAnswer}).
 */
export async function httpRequest(
  url: URL,
  { idleMs = IDLE_MS, ...request }: HttpRequest & { readonly idleMs?: number },
): Promise<IncomingMessage> {
  const response = await sendHttp(url, { headMs: HEAD_MS, ...request }).catch((cause) => {
    throw request.signal.aborted ? request.signal.reason : unreachable(url, cause);
  });
  response.setTimeout(idleMs, () => response.destroy(new Error(`nothing came for ${idleMs / 1000} s`)));
  endSlow(response, idleMs);
  return response;
}

/** The reason for the end of an answer whose server sends a byte now and then. */
export class SlowAnswer extends Error {}

/** Ends an answer that comes at less than a rate, though it is read. */
function endSlow(response: IncomingMessage, spanMs: number): void {
  const { socket } = response;
  let before = socket.bytesRead;
  const timer = setInterval(() => {
    const came = socket.bytesRead - before;
    before = socket.bytesRead;
    if (response.readableLength > 0 || response.complete || came >= (MIN_RATE * spanMs) / 1000) return;
    response.destroy(new SlowAnswer(`less than ${MIN_RATE} bytes per second came for ${spanMs / 1000} s`));
  }, spanMs).unref();
  response.once("close", () => clearInterval(timer));
}

function isReset(cause: Error): boolean {
  return ["ECONNRESET", "EPIPE"].includes(systemCode(cause));
}

function unreachable(url: URL, cause: Error): ServingError {
  if (cause instanceof ServingError) return cause;
  const why = systemCode(cause) || cause.message;
  const advice = /CERT|SELF_SIGNED|ISSUER/.test(why)
    ? "If it has a certificate of your own authority, set NODE_EXTRA_CA_CERTS=FILE.pem"
    : "Check the address and the network";
  return new ServingError("unavailable", `${url.host} cannot be reached: ${why}. ${advice}`, { cause });
}
