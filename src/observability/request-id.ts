import { randomUUID } from "node:crypto";

/** Names of the headers or metadata that carry a client's own id. */
const ID_HEADER = "x-request-id";
const TRACE_HEADER = "traceparent";

/** W3C Trace Context: version, trace id, parent id, flags. */
const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/;

/** The id of a request: `x-request-id`, else the trace id of `traceparent`, else a new one. Names are lower-case. */
export function requestIdOf(metadata: Readonly<Record<string, unknown>>): string {
  const { [ID_HEADER]: given, [TRACE_HEADER]: trace } = metadata;
  if (typeof given === "string" && given !== "") return given;
  const traceId = typeof trace === "string" ? TRACEPARENT.exec(trace)?.[1] : undefined;
  return traceId ?? newId();
}

/** The part of a UUID that all ids of this process have in common. */
const PREFIX = randomUUID().slice(0, 24);
let count = 0;

/** A UUID whose last part is a count: random digits for each request would cost a small one 3 % of its time. */
function newId(): string {
  count++;
  return PREFIX + count.toString(16).padStart(12, "0");
}

/** Characters of an id that are logged. */
const MAX_LOGGED = 200;

/** The beginning of an id as log lines have it; clients choose ids. */
export function loggedId(id: string): string {
  return id.slice(0, MAX_LOGGED);
}
