import type { SentHeaders } from "../http2/hpack-encoder.ts";
import { isMessageHeader } from "../platform/net/message-headers.ts";

/** Request headers that HTTP/2 and gRPC clients set themselves. */
const CLIENT_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "host",
  "http2-settings",
  "user-agent",
]);

/** Names and values that gRPC allows (PROTOCOL-HTTP2.md). */
const LEGAL_NAME = /^[0-9a-z_.-]+$/;
const LEGAL_VALUE = /^[\x20-\x7e]*$/;

const NO_BYTES = Buffer.alloc(0);

/** Checks that metadata with this lower-case name may be sent: gRPC sets or forbids the others itself. */
export function isSendable(name: string): boolean {
  return !isMessageHeader(name) && !CLIENT_HEADERS.has(name) && !name.startsWith("grpc-");
}

/**
 * Metadata as headers; values of `-bin` names are base64, others have no spaces at their ends. Values that gRPC cannot
 * carry (a line break, a letter outside ASCII) are omitted: a hook's header must not fail the whole answer.
 */
export function toMetadataHeaders(metadata: Readonly<Record<string, string>>): SentHeaders {
  const headers: Record<string, string | string[]> = {};
  for (const [key, value] of Object.entries(metadata)) {
    const name = key.toLowerCase();
    if (!isSendable(name) || !LEGAL_NAME.test(name)) continue;
    if (name.endsWith("-bin")) headers[name] = splitBinary(value).map((bytes) => bytes.toString("base64"));
    else if (LEGAL_VALUE.test(value)) headers[name] = value.trim();
  }
  return headers;
}

/** The values of a `-bin` name: base64 separated by commas, with or without padding (PROTOCOL-HTTP2.md). */
export function splitBinary(values: string): Buffer[] {
  return values.split(",").map((value) => (value === "" ? NO_BYTES : Buffer.from(value, "base64")));
}
