import { isUtf8 } from "node:buffer";
import { invalidArgument, publicText, ServingError } from "../../errors.ts";

const HEAD = Buffer.from('{"instances":[');
const TAIL = Buffer.from("]}");
const NEWLINE = 10;
const SPACE = 32;
const FIRST_VISIBLE = 33;
const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
/** By byte: 1 opens and -1 closes a list or an object; others as below. Even ones mean nothing within one. */
const KINDS = new Int8Array(256);
const IS_SPACE = 2;
const IS_COMMA = 4;
for (const byte of "[{") KINDS[byte.charCodeAt(0)] = 1;
for (const byte of "]}") KINDS[byte.charCodeAt(0)] = -1;
for (const byte of " \t\r") KINDS[byte.charCodeAt(0)] = IS_SPACE;
KINDS[COMMA] = IS_COMMA;
KINDS[QUOTE] = 3;
KINDS[NEWLINE] = 5;
/** Lines whose places are kept, at most: 4 MB. */
const MAX_PLACES = 2 ** 20;

/** A request for all lines of JSON, each of them an instance. */
interface JsonLines {
  /** `{"instances": […]}` as text. */
  readonly json: Uint8Array;
  /** Offsets in `json` at which the lines begin, but for those behind the first million. */
  readonly places: Uint32Array<ArrayBuffer>;
}

/**
 * Joins lines of JSON without parsing them; empty ones are passed over. Throws `invalid_argument` with the line whose
 * value is not whole, since two halves would be a value; what else is no JSON fails when the result is parsed.
 */
export function joinJsonLines(body: Uint8Array): JsonLines {
  if (!isUtf8(body)) throw notUtf8();
  return new LineJoiner(body).join();
}

class LineJoiner {
  readonly #text: Buffer;
  readonly #places = [HEAD.length];
  #at = HEAD.length;
  /** Lists and objects that are open. */
  #depth = 0;
  #line = 1;
  #hasValue = false;
  /** The line break behind the last value, which becomes a comma if another value follows. */
  #gap = 0;

  constructor(body: Uint8Array) {
    this.#text = Buffer.concat([HEAD, body, TAIL]);
    const [first, second, third] = body;
    const hasMark = first === 0xef && second === 0xbb && third === 0xbf;
    if (hasMark) this.#text.fill(SPACE, HEAD.length, HEAD.length + 3);
  }

  join(): JsonLines {
    const text = this.#text;
    const end = text.length - TAIL.length;
    while (this.#at < end) {
      this.#take(text[this.#at]!, end);
      this.#at++;
      if (this.#depth > 0) this.#at = Math.min(skipWithin(text, this.#at), end);
    }
    this.#endLine();
    if (this.#gap === 0) throw invalidArgument("The body has no rows; send one line for each row.");
    return { json: text, places: Uint32Array.from(this.#places) };
  }

  #take(byte: number, end: number): void {
    const kind = KINDS[byte]!;
    if (kind === IS_SPACE) return;
    if (byte === NEWLINE) this.#breakLine();
    else if (kind === IS_COMMA) throw this.#error("it has a comma that is in no list.");
    else {
      this.#beginValue();
      if (byte === QUOTE) this.#passText(end);
      else if (kind !== 0) this.#nest(kind);
    }
  }

  #nest(step: number): void {
    this.#depth += step;
    if (this.#depth < 0) throw this.#error("it closes a list or an object that it does not open.");
  }

  #beginValue(): void {
    if (this.#hasValue) return;
    this.#hasValue = true;
    if (this.#gap > 0) this.#text[this.#gap] = COMMA;
  }

  /** Leaves the place at the text's closing quote. */
  #passText(end: number): void {
    const text = this.#text;
    for (let at = this.#at + 1; at < end && text[at] !== NEWLINE; at++) {
      if (text[at] === BACKSLASH && text[at + 1] !== NEWLINE) at++;
      else if (text[at] === QUOTE) {
        this.#at = at;
        return;
      }
    }
    throw this.#error("it has a text that is not closed.");
  }

  #breakLine(): void {
    this.#endLine();
    this.#line++;
    // One more says where they end.
    if (this.#places.length <= MAX_PLACES) this.#places.push(this.#at + 1);
  }

  #endLine(): void {
    if (this.#depth > 0) throw this.#error("it ends within a list or an object.");
    if (this.#hasValue) this.#gap = this.#at;
    this.#hasValue = false;
  }

  #error(what: string): Error {
    return invalidArgument(`Line ${this.#line} of the body is not JSON: ${what}`);
  }
}

/** The next byte that means something within a list or an object; one that closes it is behind every text. */
function skipWithin(text: Uint8Array, from: number): number {
  let at = from;
  while ((KINDS[text[at]!]! & 1) === 0) at++;
  return at;
}

const PARSE_ERROR = /^JSON Parse error: (.*) at offset: (\d+)$/s;

/**
 * An error in the JSON of joined lines, with the line; other errors stay. The lines are at `places`, as
 * {@link JsonLines} has them.
 */
export function errorOfLine(reason: unknown, places: Uint32Array): unknown {
  if (!(reason instanceof ServingError) || reason.code !== "invalid_argument") return reason;
  const [, what = "", digits = ""] = PARSE_ERROR.exec(publicText(reason)) ?? [];
  const offset = Number(digits);
  const index = places.findLastIndex((place) => place <= offset);
  if (digits === "" || index < 0 || index === MAX_PLACES) return reason;
  return invalidArgument(
    `Line ${index + 1} of the body is not JSON: ${what} at offset: ${offset - places[index]!}`,
    reason,
  );
}

/** Checks if something follows the first list or object of a JSON text. */
export function hasSeveralValues(text: Uint8Array): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at]!;
    if (byte === QUOTE) at = endOfText(text, at);
    else if (KINDS[byte] === 1 || KINDS[byte] === -1) depth += KINDS[byte];
    else continue;
    if (depth === 0 && byte !== QUOTE) return text.subarray(at + 1).some((next) => next >= FIRST_VISIBLE);
  }
  return false;
}

/** Place of the quote that closes a text. */
function endOfText(text: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** An error for a body in another encoding. */
export function notUtf8(cause?: unknown): Error {
  return invalidArgument("The body is not UTF-8; convert it, for example with iconv.", cause);
}
