import type { IncomingMessage } from "node:http";

const ABSOLUTE = /^https?:\/\/([^/?#]+)(.*)$/i;

/**
 * Rewrites a request whose target is a whole URL, as sent to proxies, into one with a path; the URL's host then
 * replaces the Host header (RFC 9112 §3.2.2).
 */
export function toOriginForm(request: IncomingMessage): void {
  if (request.url?.startsWith("/")) return;
  const [, authority, rest = ""] = ABSOLUTE.exec(request.url ?? "") ?? [];
  if (authority === undefined) return;
  request.url = rest.startsWith("/") ? rest : `/${rest}`;
  request.headers.host = authority;
}
