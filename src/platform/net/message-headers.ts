const MESSAGE_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Checks if a header, by its name in any case, belongs to one connection or one message. Hooks may not set such
 * headers, and they are not passed on.
 */
export function isMessageHeader(name: string): boolean {
  return name.startsWith(":") || MESSAGE_HEADERS.has(name.toLowerCase());
}

const EVENT_STREAM = /^text\/event-stream *(;|$)/i;

/** Checks for the media type of Server-Sent Events, whatever its parameters. */
export function isEventStream(contentType: string): boolean {
  return EVENT_STREAM.test(contentType);
}
