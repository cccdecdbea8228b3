import { ServingError } from "../errors.ts";
import { kindOf } from "../platform/text/kind-of.ts";
import { isObject } from "../tensor/record.ts";
import type { ResponseInfo } from "./hooks.ts";

/**
 * Characters of all names and texts of `ctx.response.metadata` together: HTTP clients take 8 to 16 KB of headers, the
 * others of the answer included.
 */
export const MAX_METADATA = 8 * 1024;

/** Characters that an HTTP header can carry. */
const HEADER_TEXT = /^[\x20-\x7e]+$/;

/** Checks for a text that an HTTP header can carry. */
export function isHeaderText(value: unknown): value is string {
  return typeof value === "string" && HEADER_TEXT.test(value);
}

/**
 * Checks the members of `ctx.response`, to which JavaScript can assign any value; throws `internal` with the place, the
 * given value and the expected one.
 */
export function checkResponse(response: unknown): ResponseInfo {
  const { metadata, contentType } = (response ?? {}) as { metadata?: unknown; contentType?: unknown };
  if (!isObject(metadata)) {
    throw wrong("metadata", metadata, "an object with a text for each name");
  }
  const entry = Object.entries(metadata).find(([, value]) => typeof value !== "string");
  if (entry !== undefined) throw wrong(`metadata["${entry[0]}"]`, entry[1], "a text; convert it with String()");
  assertShort(metadata as Record<string, string>);
  if (contentType === undefined) return { metadata: metadata as Record<string, string> };
  if (!isHeaderText(contentType)) throw wrong("contentType", contentType, 'a media type such as "image/jpeg"');
  return { metadata: metadata as Record<string, string>, contentType };
}

function assertShort(metadata: Readonly<Record<string, string>>): void {
  const size = metadataSize(metadata);
  if (size <= MAX_METADATA) return;
  const problem = `Hooks set ${size} characters of ctx.response.metadata; expected ${MAX_METADATA} at most`;
  throw new ServingError("internal", `${problem}. Answer what is larger as an output.`);
}

/** Characters of all names and texts of metadata together. */
export function metadataSize(metadata: Readonly<Record<string, string>>): number {
  let size = 0;
  for (const name in metadata) size += name.length + metadata[name]!.length;
  return size;
}

function wrong(place: string, value: unknown, expected: string): ServingError {
  const came = typeof value === "string" ? JSON.stringify(value.slice(0, 100)) : kindOf(value);
  return new ServingError("internal", `A hook set ctx.response.${place} to ${came}; expected ${expected}.`);
}
