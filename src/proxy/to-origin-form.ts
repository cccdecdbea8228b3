import type { IncomingMessage } from "node:http";

const ABSOLUTE = /^https?:\/\/([^/?#]+)(.*)$/i;
/** Bytes that the parser takes in a URL, and that no URL has (RFC 3986 §2). */
const UNENCODED = /[^\x21-\x7e]/;

/**
 * Gives a request its usual form, once, for every thread: a target that is a whole URL, as sent to proxies,
 * becomes a path, and the URL's host replaces the Host header (RFC 9112 §3.2.2); bytes that no URL has are encoded.
 */
export function toOriginForm(request: IncomingMessage): void {
  const { url = "" } = request;
  if (UNENCODED.test(url)) request.url = encodeBytes(url);
  if (url.startsWith("/")) return;
  const [, authority, rest = ""] = ABSOLUTE.exec(request.url ?? "") ?? [];
  if (authority === undefined) return;
  request.url = rest.startsWith("/") ? rest : `/${rest}`;
  setHost(request, authority);
}

/** In its list too, which is passed on; a missing one stays missing, where it has to be there. */
function setHost({ headers, rawHeaders, httpVersion }: IncomingMessage, host: string): void {
  let isThere = false;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]!.toLowerCase() !== "host") continue;
    rawHeaders[at + 1] = host;
    isThere = true;
  }
  if (!isThere && httpVersion === "1.0") rawHeaders.push("Host", host);
  headers.host = host;
}

function encodeBytes(url: string): string {
  return url.replace(/[^\x21-\x7e]/g, encodeByte);
}

function encodeByte(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}
