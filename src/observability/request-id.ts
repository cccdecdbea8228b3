import { randomUUID } from "node:crypto";
import { parentOf } from "./trace-context.ts";

/** Name of the header or metadata that carries a request's id, to the server and back. */
export const ID_HEADER = "x-request-id";

/** Characters of an id that are logged and sent. */
export const MAX_ID_LENGTH = 200;
/** Text that a header may carry, without spaces at its ends. */
const SENDABLE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * The id of a request: `x-request-id`, else the trace id of `traceparent`, else a new one. Names are lower-case. An id
 * of more than 200 characters is cut; one with others than those of ASCII that can be printed does not count.
 */
export function requestIdOf(metadata: Readonly<Record<string, unknown>>): string {
  const given = metadata[ID_HEADER];
  const id = typeof given === "string" ? sendableId(given) : undefined;
  if (id !== undefined) return id;
  return parentOf(metadata)?.traceId ?? newId();
}

/** The part of a UUID that all ids of this process have in common. */
const PREFIX = randomUUID().slice(0, 24);
let count = 0;

/** A UUID whose last part is a count: random digits for each request would cost a small one 3 % of its time. */
function newId(): string {
  count++;
  return PREFIX + count.toString(16).padStart(12, "0");
}

/** The beginning of an id as log lines have it; clients choose ids. */
export function loggedId(id: string): string {
  return id.slice(0, MAX_ID_LENGTH);
}

/** The beginning of an id as a header may carry it; undefined for one that it cannot. */
export function sendableId(id: string): string | undefined {
  const text = loggedId(id).trim();
  return SENDABLE.test(text) ? text : undefined;
}
