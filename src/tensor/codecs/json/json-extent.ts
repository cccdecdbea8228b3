import { invalidArgument, type ServingError } from "../../../errors.ts";

/** Bytes of JSON's own characters. */
export const JSON_CHARACTERS = {
  QUOTE: 0x22,
  BACKSLASH: 0x5c,
  OPEN_LIST: 0x5b,
  CLOSE_LIST: 0x5d,
  OPEN_OBJECT: 0x7b,
  CLOSE_OBJECT: 0x7d,
  COLON: 0x3a,
  COMMA: 0x2c,
} as const;

/** Maximum nesting of lists and objects: no client nests deeper, and a recursive reader would run out of stack. */
export const MAX_JSON_DEPTH = 1000;
/**
 * Memory limit for the values of a body, in bytes: two characters can become a list, and a hundred million lists end
 * the process.
 */
export const MAX_JSON_BYTES = 256 * 1024 * 1024;

/**
 * Approximate bytes that V8 needs for each character outside strings: for lists, objects, members, elements, and the
 * quotes that end strings.
 */
const VALUE_BYTES = new Uint8Array(256);
const { QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, COLON, COMMA } = JSON_CHARACTERS;
VALUE_BYTES[OPEN_LIST] = VALUE_BYTES[OPEN_OBJECT] = VALUE_BYTES[COLON] = 64;
VALUE_BYTES[QUOTE] = 24;
VALUE_BYTES[COMMA] = 8;
/** 1 for bytes that need no look: all but JSON's own characters, between which many others lie. */
export const IS_OTHER = new Uint8Array(256).fill(1);
for (const character of Object.values(JSON_CHARACTERS)) IS_OTHER[character] = 0;

/**
 * Checks the bytes of a JSON text, before any recursive code reads them and before any value is created. Throws
 * `invalid_argument` for values that are nested too deeply, have too many members or would take too much memory, with
 * what to do instead.
 */
export function checkJsonExtent(json: Uint8Array, remedy: string, maxMembers = Number.POSITIVE_INFINITY): void {
  let depth = 0;
  let bytes = 0;
  let members = 0;
  let isText = false;
  for (let index = 0; index < json.length; index++) {
    const byte = json[index]!;
    if (IS_OTHER[byte] === 1) continue;
    if (isText && byte === BACKSLASH) index++;
    else if (byte === QUOTE) isText = !isText;
    if (isText) continue;
    bytes += VALUE_BYTES[byte]!;
    if (byte === COLON && ++members > maxMembers)
      throw invalidArgument(`The body has more than ${maxMembers} members; ${remedy}.`);
    if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--;
    else if ((byte === OPEN_LIST || byte === OPEN_OBJECT) && ++depth > MAX_JSON_DEPTH) {
      throw invalidArgument(`The body is nested more than ${MAX_JSON_DEPTH} levels deep.`);
    }
  }
  if (bytes > MAX_JSON_BYTES) throw tooManyValues(bytes, remedy);
}

function tooManyValues(bytes: number, remedy: string): ServingError {
  const [needed, most] = [bytes, MAX_JSON_BYTES].map((count) => Math.round(count / 2 ** 20));
  return invalidArgument(
    `The values of the body would take ${needed} MB in memory, of which ${most} are allowed; ${remedy}.`,
  );
}
