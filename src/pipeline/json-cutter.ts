/** Bytes of a piece of a JSON text: what takes some milliseconds to parse. */
const PIECE_BYTES = 64 * 1024;
/** Numbers of a step: its kind and a range of the text. */
export const STEP_SIZE = 3;
/**
 * Steps by which a value is put together: `list`, `object` and `text` begin one, under the key in their range if that
 * is not empty, `values` adds elements or members to it, `part` a part of a text, and `end` ends it.
 */
export const STEP = { list: 0, object: 1, text: 2, values: 3, part: 4, end: 5 } as const;

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
const { QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, COLON, COMMA } = JSON_CHARACTERS;
const U = 0x75;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
/** Characters between values that belong to none. */
const BETWEEN: ReadonlySet<number> = new Set(Buffer.from(" \t\r\n,"));

/** A range of the text. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** A list or an object around the present place. */
interface Container {
  readonly isObject: boolean;
  /** Its first byte, or that of its key. */
  readonly start: number;
  /** The place behind its bracket. */
  readonly inner: number;
  readonly key: Range;
}

const NO_KEY: Range = { start: 0, end: 0 };

/**
 * Cuts the text of a JSON value into pieces that are small enough to be parsed one after the other, and returns the
 * steps that make the value of them, {@link STEP_SIZE} numbers each. The text is known to be JSON.
 */
export function cutJson(json: Uint8Array, pieceBytes = PIECE_BYTES): Uint32Array<ArrayBuffer> {
  return new JsonCutter(json, pieceBytes).cut();
}

class JsonCutter {
  readonly #json: Uint8Array;
  readonly #pieceBytes: number;
  readonly #steps: number[] = [];
  readonly #around: Container[] = [];
  /** Those of them, from the outermost on, that steps have begun. */
  #begun = 0;
  /** Place from which on the text is in no piece yet. */
  #from: number;
  #key = NO_KEY;
  #lastText = NO_KEY;

  constructor(json: Uint8Array, pieceBytes: number) {
    this.#json = json;
    this.#pieceBytes = pieceBytes;
    this.#from = BYTE_ORDER_MARK.every((byte, index) => json[index] === byte) ? BYTE_ORDER_MARK.length : 0;
  }

  cut(): Uint32Array<ArrayBuffer> {
    const json = this.#json;
    for (let at = 0; at < json.length; at++) {
      const byte = json[at];
      if (byte === QUOTE) at = this.#passText(at);
      else if (byte === COMMA) this.#cutAt(at);
      else if (byte === COLON) this.#key = this.#lastText;
      else if (byte === OPEN_LIST || byte === OPEN_OBJECT) this.#enter(at, byte === OPEN_OBJECT);
      else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) this.#leave(at);
    }
    this.#addValues(json.length);
    return Uint32Array.from(this.#steps);
  }

  #enter(at: number, isObject: boolean): void {
    const key = this.#keyHere();
    const start = key === NO_KEY ? at : key.start;
    this.#around.push({ isObject, start, inner: at + 1, key });
  }

  #leave(at: number): void {
    if (this.#begun === this.#around.length) {
      this.#addValues(at);
      this.#add(STEP.end);
      this.#begun--;
      this.#from = at + 1;
    }
    this.#around.pop();
  }

  /** The text before `at` consists of whole values. */
  #cutAt(at: number): void {
    while (at - this.#from >= this.#pieceBytes && this.#begun < this.#around.length) this.#beginNext();
    if (at - this.#from >= this.#pieceBytes) this.#addValues(at);
  }

  #beginNext(): void {
    const { isObject, start, inner, key } = this.#around[this.#begun++]!;
    this.#addValues(start);
    this.#add(isObject ? STEP.object : STEP.list, key);
    this.#from = inner;
  }

  /** Returns the place of the quote that ends a text. */
  #passText(start: number): number {
    const json = this.#json;
    const cuts = [start + 1];
    let at = start + 1;
    for (; json[at] !== QUOTE && at < json.length; at++) {
      if (at - cuts.at(-1)! >= this.#pieceBytes && !isContinued(json[at]!)) cuts.push(at);
      if (json[at] === BACKSLASH) at += json[at + 1] === U ? 5 : 1;
    }
    this.#lastText = { start, end: at + 1 };
    if (cuts.length > 1 && !this.#isKey(at + 1)) this.#addText(start, [...cuts, at]);
    return at;
  }

  #addText(start: number, cuts: readonly number[]): void {
    const key = this.#keyHere();
    while (this.#begun < this.#around.length) this.#beginNext();
    this.#addValues(key === NO_KEY ? start : key.start);
    this.#add(STEP.text, key);
    for (let part = 1; part < cuts.length; part++) this.#add(STEP.part, { start: cuts[part - 1]!, end: cuts[part]! });
    this.#add(STEP.end);
    this.#from = cuts.at(-1)! + 1;
  }

  #keyHere(): Range {
    return this.#around.at(-1)?.isObject === true ? this.#key : NO_KEY;
  }

  #isKey(after: number): boolean {
    let at = after;
    while (at < this.#json.length && BETWEEN.has(this.#json[at]!) && this.#json[at] !== COMMA) at++;
    return this.#json[at] === COLON;
  }

  #addValues(end: number): void {
    let [from, to] = [this.#from, end];
    while (from < to && BETWEEN.has(this.#json[from]!)) from++;
    while (from < to && BETWEEN.has(this.#json[to - 1]!)) to--;
    if (from < to) this.#add(STEP.values, { start: from, end: to });
    this.#from = end;
  }

  #add(kind: number, { start, end }: Range = NO_KEY): void {
    this.#steps.push(kind, start, end);
  }
}

/** True for a byte of a character of UTF-8 that is not its first. */
function isContinued(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
