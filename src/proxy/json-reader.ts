import { JsonCursor } from "./json-cursor.ts";
import { ArrayFrame, ObjectFrame, SCALAR } from "./json-frame.ts";
import { readNumber } from "./json-number.ts";
import { readString } from "./json-string.ts";
import { JsonNumbers, type JsonValue, NumberStore } from "./json-value.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Lists and objects inside one another; each open one costs memory. */
const MAX_DEPTH = 1_000_000;
/** Values that are objects of their own in memory: all but the numbers in regular lists. */
const MAX_VALUES = 10_000_000;
/** Numbers that the store holds at first, at most: 8 MB. */
const MAX_INITIAL_NUMBERS = 2 ** 20;
/** Bytes of text that a number usually takes, from below. */
const BYTES_PER_NUMBER = 16;

/** How far a text may stray from JSON. */
export interface JsonReaderOptions {
  /** Takes NaN, Infinity, Inf and -Infinity as numbers. */
  readonly lenientNumbers?: boolean;
  /** Ignores whatever follows the value, as TensorFlow Serving does. */
  readonly ignoreTrailing?: boolean;
}

/**
 * Parses UTF-8 JSON text in one pass. Numbers in regular lists cost no object each: see {@link JsonNumbers}.
 * Nesting costs no call stack. Throws `invalid_argument`: `JSON Parse error: WHAT at offset: N`, in the words of the
 * parser that TensorFlow Serving uses.
 */
export function parseJson(text: Uint8Array, options: JsonReaderOptions = {}): JsonValue {
  return new JsonReader(text, options).read();
}

class JsonReader {
  readonly #cursor: JsonCursor;
  readonly #lenientNumbers: boolean;
  readonly #ignoreTrailing: boolean;
  readonly #numbers: NumberStore;
  /** The lists and objects that are open, outermost first. */
  readonly #open: (ArrayFrame | ObjectFrame)[] = [];
  /** The list that was closed last, to be used again. */
  #spare: ArrayFrame | undefined;
  #values = 0;
  #root: JsonValue = null;

  constructor(text: Uint8Array, options: JsonReaderOptions) {
    this.#cursor = new JsonCursor(text);
    this.#lenientNumbers = options.lenientNumbers ?? false;
    this.#ignoreTrailing = options.ignoreTrailing ?? false;
    this.#numbers = new NumberStore(Math.min(text.length / BYTES_PER_NUMBER + 4, MAX_INITIAL_NUMBERS) | 0);
  }

  read(): JsonValue {
    const cursor = this.#cursor;
    cursor.skipSpace();
    if (!this.#atValue()) throw cursor.error("The document is empty.");
    this.#readValue();
    for (let frame = this.#open.at(-1); frame !== undefined; frame = this.#open.at(-1)) {
      if (frame instanceof ArrayFrame) this.#readElement(frame);
      else this.#readMember(frame);
    }
    cursor.skipSpace();
    if (this.#ignoreTrailing || cursor.pos === cursor.end) return this.#root;
    throw cursor.error("The document root must not be followed by other values.");
  }

  /** Whether what is at the cursor can at least be taken for a value. */
  #atValue(): boolean {
    const { bytes, pos, end } = this.#cursor;
    return pos < end && ![COMMA, COLON, CLOSE_LIST, CLOSE_OBJECT].includes(bytes[pos] as number);
  }

  /** Reads a whole scalar, or the opening of a list or object. */
  #readValue(): void {
    const cursor = this.#cursor;
    switch (cursor.bytes[cursor.pos]) {
      case QUOTE:
        return this.#add(readString(cursor));
      case OPEN_LIST:
        return this.#push(this.#spare?.reopen() ?? new ArrayFrame(this.#numbers));
      case OPEN_OBJECT:
        return this.#push(new ObjectFrame());
      case 0x6e:
        return this.#readLiteral("null", null);
      case 0x74:
        return this.#readLiteral("true", true);
      case 0x66:
        return this.#readLiteral("false", false);
      default:
        return this.#readScalarNumber();
    }
  }

  /** Reads one element of an open list, a run of numbers, or its end. */
  #readElement(frame: ArrayFrame): void {
    const cursor = this.#cursor;
    cursor.skipSpace();
    if (cursor.bytes[cursor.pos] === CLOSE_LIST) return this.#closeList(frame);
    if (!frame.isEmpty) this.#skipComma("Missing a comma or ']' after an array element.");
    if (frame.takesNumbers && isNumberStart(cursor.bytes[cursor.pos])) this.#readNumbers(frame);
    else this.#readValue();
  }

  /** Reads numbers as long as nothing else comes between the commas. */
  #readNumbers(frame: ArrayFrame): void {
    const numbers = this.#numbers;
    const before = numbers.length;
    do this.#pushNumber();
    while (this.#skipToNumber());
    frame.countNumbers(numbers.length - before);
  }

  #pushNumber(): void {
    const cursor = this.#cursor;
    const value = readNumber(cursor, this.#lenientNumbers);
    if (cursor.exact !== undefined) this.#numbers.exact.set(this.#numbers.length, cursor.exact);
    this.#numbers.push(value, cursor.integral);
  }

  /** Moves over a comma to the number behind it; stays where it is if something else follows. */
  #skipToNumber(): boolean {
    const cursor = this.#cursor;
    const { bytes, pos } = cursor;
    if (bytes[pos] === COMMA) {
      if (isNumberStart(bytes[pos + 1])) cursor.pos = pos + 1;
      else if (isNumberStart(bytes[pos + 2]) && bytes[pos + 1] === 0x20) cursor.pos = pos + 2;
      else return this.#skipFarToNumber();
      return true;
    }
    return this.#skipFarToNumber();
  }

  #skipFarToNumber(): boolean {
    const cursor = this.#cursor;
    cursor.skipSpace();
    const { bytes, pos } = cursor;
    if (bytes[pos] !== COMMA) return false;
    cursor.pos++;
    cursor.skipSpace();
    if (isNumberStart(bytes[cursor.pos])) return true;
    cursor.pos = pos;
    return false;
  }

  #readMember(frame: ObjectFrame): void {
    const cursor = this.#cursor;
    cursor.skipSpace();
    if (cursor.bytes[cursor.pos] === CLOSE_OBJECT) return this.#close(frame.close());
    if (!frame.isEmpty) this.#skipComma("Missing a comma or '}' after an object member.");
    if (cursor.bytes[cursor.pos] !== QUOTE) throw cursor.error("Missing a name for object member.");
    frame.expect(readString(cursor));
    cursor.skipSpace();
    if (cursor.bytes[cursor.pos] !== COLON) throw cursor.error("Missing a colon after a name of object member.");
    cursor.pos++;
    cursor.skipSpace();
    this.#readValue();
  }

  #skipComma(missing: string): void {
    const cursor = this.#cursor;
    if (cursor.bytes[cursor.pos] !== COMMA) throw cursor.error(missing);
    cursor.pos++;
    cursor.skipSpace();
  }

  #readLiteral(text: string, value: JsonValue): void {
    const cursor = this.#cursor;
    for (let index = 1; index < text.length; index++) {
      if (cursor.bytes[cursor.pos + index] !== text.charCodeAt(index)) {
        throw cursor.error("Invalid value.", cursor.pos + index);
      }
    }
    cursor.pos += text.length;
    this.#add(value);
  }

  #readScalarNumber(): void {
    this.#pushNumber();
    this.#add(new JsonNumbers(this.#numbers, this.#numbers.length - 1, SCALAR));
  }

  #push(frame: ArrayFrame | ObjectFrame): void {
    if (this.#open.length === MAX_DEPTH) throw this.#cursor.error(`More than ${MAX_DEPTH} levels of nesting.`);
    if (frame === this.#spare) this.#spare = undefined;
    this.#cursor.pos++;
    this.#open.push(frame);
  }

  #closeList(frame: ArrayFrame): void {
    this.#spare = frame;
    const parent = this.#open.at(-2);
    if (!(parent instanceof ArrayFrame && parent.absorb(frame))) return this.#close(frame.close());
    this.#open.pop();
    this.#cursor.pos++;
  }

  #close(value: JsonValue): void {
    this.#open.pop();
    this.#cursor.pos++;
    this.#add(value);
  }

  #add(value: JsonValue): void {
    if (++this.#values > MAX_VALUES) throw this.#cursor.error(`More than ${MAX_VALUES} values outside lists of numbers.`);
    const frame = this.#open.at(-1);
    if (frame === undefined) this.#root = value;
    else frame.add(value);
  }
}

function isNumberStart(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= ZERO && byte <= NINE) || byte === MINUS);
}
