import type { IncomingMessage, ServerResponse } from "node:http";
import type { AccessPolicy } from "../access/access-policy.ts";

/** Time for which a browser may cache a preflight's answer, in seconds: the maximum of browsers. */
const MAX_AGE_S = "7200";

/** A request of a web page, by the CORS protocol (https://fetch.spec.whatwg.org/#http-cors-protocol). */
interface CorsPair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Allows permitted origins to read the answer, errors too; returns false without permission. */
export function permitOrigin({ request, response }: CorsPair, policy: AccessPolicy): boolean {
  const { origin } = request.headers;
  // Also for pages without permission and for programs: a cache must not serve the answer of one of them to another.
  if (policy.dependsOnOrigin) response.setHeader("Vary", "Origin");
  const allowed = origin === undefined ? undefined : policy.allowedOrigin(origin);
  if (allowed === undefined) return false;
  response.setHeader("Access-Control-Allow-Origin", allowed);
  response.setHeader("Access-Control-Expose-Headers", "*");
  return true;
}

/** Checks if a request is a browser's preflight. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}

/** Answers a preflight of a permitted origin: any headers, and from public pages to private networks too. */
export function answerPreflight({ request, response }: CorsPair): void {
  const { headers } = request;
  response.setHeader("Access-Control-Allow-Methods", "GET, POST");
  response.setHeader("Access-Control-Allow-Headers", headers["access-control-request-headers"] ?? "Content-Type");
  response.setHeader("Access-Control-Max-Age", MAX_AGE_S);
  if (headers["access-control-request-private-network"] === "true") {
    response.setHeader("Access-Control-Allow-Private-Network", "true");
  }
  response.writeHead(200, { "content-length": 0 }).end();
  request.resume();
}
