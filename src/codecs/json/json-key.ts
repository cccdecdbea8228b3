import type { JsonCursor } from "./json-cursor.ts";
import { plainStringEnd, readString } from "./json-string.ts";

/** Names that are remembered, at most; a power of two. */
const SLOTS = 256;
/** Longer names are not remembered. */
const MAX_LENGTH = 64;

/** Names that were read before, each in the slot of its length and outer characters. */
const known: string[] = new Array(SLOTS).fill("");

/**
 * Reads the member name whose opening quote is at the cursor, as {@link readString} does. Names are the same from
 * request to request, and a string that exists costs a comparison instead of its making.
 */
export function readKey(cursor: JsonCursor): string {
  const { bytes, pos } = cursor;
  const start = pos + 1;
  const end = plainStringEnd(cursor);
  const length = end - start;
  if (length < 1 || length > MAX_LENGTH) return readString(cursor);
  const slot = (length + 7 * bytes[start]! + 31 * bytes[end - 1]!) % SLOTS;
  const name = known[slot]!;
  if (!isAt(bytes, start, length, name)) return remember(slot, readString(cursor));
  cursor.pos = end + 1;
  return name;
}

function remember(slot: number, name: string): string {
  known[slot] = name;
  return name;
}

function isAt(bytes: Buffer, start: number, length: number, text: string): boolean {
  if (text.length !== length) return false;
  for (let index = 0; index < length; index++) if (bytes[start + index] !== text.charCodeAt(index)) return false;
  return true;
}
