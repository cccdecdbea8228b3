import type { OutgoingHttpHeaders } from "node:http2";

/** Headers that belong to one connection or one message, never to be passed on. */
const TRANSPORT_KEYS: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
]);

/** Names and values that gRPC allows (PROTOCOL-HTTP2.md). */
const LEGAL_NAME = /^[0-9a-z_.-]+$/;
const LEGAL_VALUE = /^[\x20-\x7e]*$/;

/** Checks that metadata of this lower-case name may be sent: gRPC sets, or forbids, the others itself. */
export function isSendable(name: string): boolean {
  return !TRANSPORT_KEYS.has(name) && !name.startsWith("grpc-") && !name.startsWith(":");
}

/**
 * Metadata as headers; values of `-bin` names are base64. What gRPC cannot carry (a line break, a letter outside ASCII) is left
 * out: a hook's header must not cost the whole answer.
 */
export function toMetadataHeaders(metadata: Readonly<Record<string, string>>): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  for (const [key, value] of Object.entries(metadata)) {
    const name = key.toLowerCase();
    if (!isSendable(name) || !LEGAL_NAME.test(name)) continue;
    const text = name.endsWith("-bin") ? Buffer.from(value, "base64").toString("base64") : value;
    if (LEGAL_VALUE.test(text)) headers[name] = text;
  }
  return headers;
}
