import { JSON_CHARACTERS } from "./json-extent.ts";

const { QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, COLON, COMMA } = JSON_CHARACTERS;
const [MINUS, PLUS, POINT, ZERO] = [0x2d, 0x2b, 0x2e, 0x30];
const [LETTER_E, LETTER_U] = [0x65, 0x75];
/** Setting this bit makes an ASCII letter lower-case. */
const LOWER = 0x20;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
/** 1 for bytes of a string that need no look: all but a quote, a backslash and control characters. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH),
);
/** 1 for hexadecimal digits. */
const HEX = Uint8Array.from({ length: 256 }, (_, byte) => Number(/^[0-9a-f]$/i.test(String.fromCharCode(byte))));
const ESCAPED: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));
/** By first byte. */
const WORDS: ReadonlyMap<number | undefined, Buffer> = new Map(
  ["true", "false", "null"].map((word) => [word.charCodeAt(0), Buffer.from(word)]),
);

/** The first thing in a text that keeps it from being JSON. */
export interface JsonFault {
  /** The place of the byte that does not belong there; the text's length if its end is missing. */
  readonly at: number;
  /** True if the end of a string is missing. */
  readonly isInString: boolean;
}

/**
 * Finds what JSON.parse would not take in UTF-8; undefined = the text is JSON. Makes no values: what a text would
 * become in memory is many times as large.
 */
export function jsonFault(json: Uint8Array): JsonFault | undefined {
  const isMarked = BYTE_ORDER_MARK.every((byte, index) => json[index] === byte);
  const end = valueEnd(json, spaceEnd(json, isMarked ? BYTE_ORDER_MARK.length : 0));
  const at = end < 0 ? ~end : spaceEnd(json, end);
  if (end >= 0 && at === json.length) return undefined;
  return at > json.length ? { at: json.length, isInString: true } : { at, isInString: false };
}

/**
 * Each function here gives the place behind what begins at `at`; `~place`, which is negative, for a byte that does not
 * belong there.
 */
function valueEnd(json: Uint8Array, start: number): number {
  /** The lists and objects around the place, outermost first; true = an object. */
  const around: boolean[] = [];
  let at = start;
  do {
    const byte = json[at];
    const isObject = byte === OPEN_OBJECT;
    if (isObject || byte === OPEN_LIST) {
      at = spaceEnd(json, at + 1);
      if (json[at] === closeOf(isObject)) at++;
      else {
        around.push(isObject);
        if (isObject) at = keyEnd(json, at);
        if (at < 0) return at;
        continue;
      }
    } else at = scalarEnd(json, at);
    if (at >= 0 && around.length > 0) at = nextValue(json, at, around);
    if (at < 0) return at;
  } while (around.length > 0);
  return at;
}

function closeOf(isObject: boolean): number {
  return isObject ? CLOSE_OBJECT : CLOSE_LIST;
}

/** The place of the value after one that ends at `start`, or behind the outermost list or object. */
function nextValue(json: Uint8Array, start: number, around: boolean[]): number {
  let at = spaceEnd(json, start);
  for (let isObject = around.at(-1); isObject !== undefined; isObject = around.at(-1)) {
    if (json[at] === COMMA) {
      at = spaceEnd(json, at + 1);
      return isObject ? keyEnd(json, at) : at;
    }
    if (json[at] !== closeOf(isObject)) return ~at;
    around.pop();
    at = around.length === 0 ? at + 1 : spaceEnd(json, at + 1);
  }
  return at;
}

/** The place of the value behind a key. */
function keyEnd(json: Uint8Array, at: number): number {
  if (json[at] !== QUOTE) return ~at;
  const end = textEnd(json, at + 1);
  if (end < 0) return end;
  const colon = spaceEnd(json, end);
  return json[colon] === COLON ? spaceEnd(json, colon + 1) : ~colon;
}

function scalarEnd(json: Uint8Array, at: number): number {
  const byte = json[at];
  if (byte === QUOTE) return textEnd(json, at + 1);
  if (byte === MINUS || isDigit(byte)) return numberEnd(json, at);
  const word = WORDS.get(byte);
  if (word === undefined) return ~at;
  const wrong = word.findIndex((letter, index) => json[at + index] !== letter);
  return wrong === -1 ? at + word.length : ~(at + wrong);
}

function numberEnd(json: Uint8Array, start: number): number {
  let at = json[start] === MINUS ? start + 1 : start;
  at = json[at] === ZERO ? at + 1 : digitsEnd(json, at);
  if (at >= 0 && json[at] === POINT) at = digitsEnd(json, at + 1);
  if (at < 0 || (json[at]! | LOWER) !== LETTER_E) return at;
  const isSigned = json[at + 1] === MINUS || json[at + 1] === PLUS;
  return digitsEnd(json, isSigned ? at + 2 : at + 1);
}

/** Behind one digit at least. */
function digitsEnd(json: Uint8Array, start: number): number {
  let at = start;
  while (isDigit(json[at])) at++;
  return at === start ? ~at : at;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= ZERO + 9;
}

/** Behind the quote that ends a string. */
function textEnd(json: Uint8Array, start: number): number {
  let at = start;
  for (;;) {
    while (PLAIN[json[at]!] === 1) at++;
    if (json[at] === QUOTE) return at + 1;
    // Behind the text's end, which others that end there do not tell.
    if (at >= json.length) return ~(json.length + 1);
    if (json[at] !== BACKSLASH) return ~at;
    if (ESCAPED.has(json[at + 1]!)) at += 2;
    else if (json[at + 1] === LETTER_U && areHex(json, at + 2)) at += 6;
    else return ~(at + 1);
  }
}

function areHex(json: Uint8Array, start: number): boolean {
  for (let at = start; at < start + 4; at++) if (HEX[json[at]!] !== 1) return false;
  return true;
}

function spaceEnd(json: Uint8Array, start: number): number {
  let at = start;
  while (json[at] === 0x20 || json[at] === 0x0a || json[at] === 0x0d || json[at] === 0x09) at++;
  return at;
}
