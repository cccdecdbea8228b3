import { type IncomingMessage, type RequestOptions as NodeOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { ServingError } from "../../errors.ts";

/** Time within which the head of an answer has to come, in milliseconds. */
const HEAD_MS = 30_000;
/** Time within which a piece of the body has to come, in milliseconds. */
const IDLE_MS = 30_000;

/** One request. */
export interface HttpRequest {
  readonly method?: "GET" | "HEAD" | "POST" | "PUT";
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** Default 30 s; for servers that may not be there at all. */
  readonly headMs?: number;
  readonly lookup?: LookupFunction;
  /** True for a connection of its own, whose address `lookup` sees; default: one that is kept may be used again. */
  readonly isAlone?: boolean;
}

/**
 * Sends a request and resolves with the head of its answer, whatever its status; the body's bytes come as they are.
 * Throws `unavailable` for a server that cannot be reached or does not answer in time. A body that stalls fails.
 */
export function httpRequest(url: URL, options: HttpRequest): Promise<IncomingMessage> {
  const { method = "GET", headers = {}, body, signal, headMs = HEAD_MS, lookup, isAlone } = options;
  return new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const given: NodeOptions = { method, headers, signal, ...(lookup && { lookup }), ...(isAlone && { agent: false }) };
    const outgoing = send(url, given);
    const timer = setTimeout(() => outgoing.destroy(new Error(`no answer within ${headMs / 1000} s`)), headMs);
    let isAnswered = false;
    outgoing.on("error", (cause) => {
      clearTimeout(timer);
      // On a connection that was used before, Node tells the request too of a reset amid the body, which fails anyway.
      if (isAnswered) return;
      // A server ends connections that it has not heard on for a while, perhaps just now.
      if (outgoing.reusedSocket && isReset(cause) && ["GET", "HEAD"].includes(method) && !signal.aborted)
        return resolve(httpRequest(url, options));
      reject(signal.aborted ? signal.reason : unreachable(url, cause));
    });
    outgoing.on("response", (response) => {
      isAnswered = true;
      clearTimeout(timer);
      response.setTimeout(IDLE_MS, () => response.destroy(new Error(`nothing came for ${IDLE_MS / 1000} s`)));
      resolve(response);
    });
    outgoing.end(body);
  });
}

function isReset(cause: Error): boolean {
  return ["ECONNRESET", "EPIPE"].includes((cause as NodeJS.ErrnoException).code ?? "");
}

function unreachable(url: URL, cause: Error): ServingError {
  if (cause instanceof ServingError) return cause;
  const { code, message } = cause as NodeJS.ErrnoException;
  const why = code === undefined || message.includes("answer within") ? message : code;
  const advice = /CERT|SELF_SIGNED|ISSUER/.test(why)
    ? "If it has a certificate of your own authority, set NODE_EXTRA_CA_CERTS=FILE.pem"
    : "Check the address and the network";
  return new ServingError("unavailable", `${url.host} cannot be reached: ${why}. ${advice}`, { cause });
}
