import type { DecodeBudget } from "../../../platform/limits/memory/decode-budget.ts";
import { JsonCursor, readKey, readString } from "./json-cursor.ts";
import { ArrayFrame, ObjectFrame, SCALAR } from "./json-frame.ts";
import { readNumber } from "./json-number.ts";
import { isNumberStart, readIntegerRows, readNumberRun } from "./json-number-run.ts";
import { JsonNumbers, type JsonValue, NumberStore, VALUE_BYTES } from "./json-value.ts";

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** JSON's own characters that begin no value. */
const NO_VALUES: ReadonlySet<number> = new Set([COMMA, COLON, CLOSE_LIST, CLOSE_OBJECT]);
/** By first byte. */
const LITERALS: ReadonlyMap<number, readonly [string, JsonValue]> = new Map<number, readonly [string, JsonValue]>([
  [0x6e, ["null", null]],
  [0x74, ["true", true]],
  [0x66, ["false", false]],
]);

/** Lists and objects inside one another; each open one costs memory. */
const MAX_DEPTH = 1_000_000;
/** Numbers that the store holds at first, at most: 8 MB. */
const MAX_INITIAL_NUMBERS = 2 ** 20;
/** Numbers that the store has room for at least: making it larger costs more than reading them. */
const MIN_INITIAL_NUMBERS = 64;
/** Rows after one that is not of integers in which none are looked for: a look takes a sixth of a row of three. */
const REST_ROWS = 64;
/** Bytes of text that a number usually takes, from below. */
const BYTES_PER_NUMBER = 16;

/** Deviations from JSON that a text may have. */
interface JsonReaderOptions {
  /** Ignores text after the value, as TensorFlow Serving does. */
  readonly ignoreTrailing?: boolean;
  /** Gets each key that an object has more than once, whose first value counts; absent = the last one does, untold. */
  readonly repeated?: Set<string>;
  /** Bytes before the text, to which the offsets in errors are added. Default 0. */
  readonly before?: number | undefined;
}

/**
 * Parses UTF-8 JSON text in one pass; NaN, Infinity, Inf and their negatives are numbers too. Numbers in regular lists
 * cost no object each: see {@link JsonNumbers}. Nesting costs no call stack; `budget` bounds the memory. Throws
 * `invalid_argument`: `JSON Parse error: WHAT at offset: N`, in the words of the parser that TensorFlow Serving uses.
 */
export function parseJson(text: Uint8Array, budget: DecodeBudget, options: JsonReaderOptions = {}): JsonValue {
  const reader = new JsonReader(text, budget, options);
  return reader.read();
}

const oneMoreValue = () => "one more value";

class JsonReader {
  readonly #cursor: JsonCursor;
  readonly #ignoreTrailing: boolean;
  readonly #repeated: Set<string> | undefined;
  readonly #numbers: NumberStore;
  /** Rows until those of integers are looked for again. */
  #restRows = 0;
  /** The lists and objects that are open, outermost first. */
  readonly #open: (ArrayFrame | ObjectFrame)[] = [];
  /** The list that was closed last, to be used again. */
  #spare: ArrayFrame | undefined;
  readonly #budget: DecodeBudget;
  #root: JsonValue = null;

  constructor(text: Uint8Array, budget: DecodeBudget, options: JsonReaderOptions) {
    this.#cursor = new JsonCursor(text, options.before);
    this.#ignoreTrailing = options.ignoreTrailing ?? false;
    this.#repeated = options.repeated;
    this.#budget = budget;
    const numbers = Math.max(text.length / BYTES_PER_NUMBER, MIN_INITIAL_NUMBERS);
    this.#numbers = new NumberStore(Math.min(numbers, MAX_INITIAL_NUMBERS) | 0, budget);
  }

  /** The whole value. */
  read(): JsonValue {
    this.#begin();
    for (let frame = this.#open.at(-1); frame !== undefined; frame = this.#open.at(-1)) {
      if (frame instanceof ArrayFrame) this.#readElement(frame);
      else this.#readMember(frame);
    }
    return this.#finish();
  }

  #begin(): void {
    const cursor = this.#cursor;
    cursor.skipByteOrderMark();
    cursor.skipSpace();
    if (!this.#atValue()) throw cursor.error("The document is empty.");
    this.#readValue();
  }

  #finish(): JsonValue {
    const cursor = this.#cursor;
    cursor.skipSpace();
    if (this.#ignoreTrailing || cursor.pos === cursor.end) return this.#root;
    throw cursor.error("The document root must not be followed by other values.");
  }

  /** Checks that the text at the cursor may be a value. */
  #atValue(): boolean {
    const { bytes, pos, end } = this.#cursor;
    return pos < end && !NO_VALUES.has(bytes[pos]!);
  }

  /** Reads a whole scalar, or the opening of a list or object. */
  #readValue(): void {
    const cursor = this.#cursor;
    const byte = cursor.bytes[cursor.pos];
    if (byte === QUOTE) this.#add(readString(cursor));
    else if (byte === OPEN_LIST) this.#push(this.#takeFrame());
    else if (byte === OPEN_OBJECT) this.#push(new ObjectFrame(this.#budget, this.#repeated));
    else if (isNumberStart(byte)) this.#readScalarNumber();
    else this.#readWord(LITERALS.get(byte ?? 0));
  }

  /** Reads one element of an open list, a run of numbers, or its end. */
  #readElement(frame: ArrayFrame): void {
    const cursor = this.#cursor;
    cursor.skipSpace();
    if (cursor.bytes[cursor.pos] === CLOSE_LIST) {
      this.#closeList(frame);
      return;
    }
    if (!frame.isEmpty) this.#skipComma("Missing a comma or ']' after an array element.");
    if (frame.takesNumbers && isNumberStart(cursor.bytes[cursor.pos])) this.#readNumbers(frame);
    else this.#readValue();
  }

  /** Reads numbers as long as nothing comes between them but commas and the ends of rows. */
  #readNumbers(frame: ArrayFrame): void {
    const cursor = this.#cursor;
    const numbers = this.#numbers;
    do {
      const before = numbers.length;
      readNumberRun(cursor, numbers, this.#restRows === 0);
      frame.countPushed(numbers.length - before);
    } while (this.#skipToRow(frame));
  }

  /**
   * Closes the list and opens the next one, if that is all that lies between two numbers and the parent stays
   * regular; reads rows of integers on its way.
   */
  #skipToRow(frame: ArrayFrame): boolean {
    const cursor = this.#cursor;
    const { bytes, pos } = cursor;
    if (bytes[pos] !== CLOSE_LIST || bytes[pos + 1] !== COMMA) return false;
    const next = bytes[pos + 2] === SPACE ? pos + 3 : pos + 2;
    if (bytes[next] !== OPEN_LIST || !isNumberStart(bytes[next + 1])) return false;
    const parent = this.#open.at(-2);
    if (!(parent instanceof ArrayFrame && parent.absorb(frame))) return false;
    cursor.pos = next + 1;
    if (this.#restRows > 0) this.#restRows--;
    else this.#readIntegerRows(parent, frame.length);
    frame.reopen();
    return true;
  }

  #readIntegerRows(parent: ArrayFrame, width: number): void {
    const rows = readIntegerRows(this.#cursor, this.#numbers, width);
    if (rows === 0) this.#restRows = REST_ROWS;
    parent.countPushed(rows);
  }

  /** Reads one member of an open object up to its value, the value if it is a scalar, or the object's end. */
  #readMember(frame: ObjectFrame): void {
    const cursor = this.#cursor;
    cursor.skipSpace();
    if (cursor.bytes[cursor.pos] === CLOSE_OBJECT) {
      this.#close(frame.close());
      return;
    }
    if (!frame.isEmpty) this.#skipComma("Missing a comma or '}' after an object member.");
    if (cursor.bytes[cursor.pos] !== QUOTE) throw cursor.error("Missing a name for object member.");
    frame.expect(readKey(cursor));
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

  /** Reads a literal; otherwise tries the words for numbers. */
  #readWord(literal: readonly [string, JsonValue] | undefined): void {
    if (literal === undefined) {
      this.#readScalarNumber();
      return;
    }
    const [text, value] = literal;
    const { bytes, pos } = this.#cursor;
    for (let index = 1; index < text.length; index++) {
      if (bytes[pos + index] !== text.charCodeAt(index)) throw this.#cursor.error("Invalid value.", pos + index);
    }
    this.#cursor.pos += text.length;
    this.#add(value);
  }

  #readScalarNumber(): void {
    readNumber(this.#cursor, this.#numbers);
    this.#add(new JsonNumbers(this.#numbers, this.#numbers.length - 1, SCALAR));
  }

  #takeFrame(): ArrayFrame {
    const frame = this.#spare?.reopen() ?? new ArrayFrame(this.#numbers);
    this.#spare = undefined;
    this.#restRows = 0;
    return frame;
  }

  #push(frame: ArrayFrame | ObjectFrame): void {
    if (this.#open.length === MAX_DEPTH) throw this.#cursor.error(`More than ${MAX_DEPTH} levels of nesting.`);
    this.#cursor.pos++;
    this.#open.push(frame);
  }

  #closeList(frame: ArrayFrame): void {
    this.#spare = frame;
    const parent = this.#open.at(-2);
    if (!(parent instanceof ArrayFrame && parent.absorb(frame))) {
      this.#close(frame.close());
      return;
    }
    this.#open.pop();
    this.#cursor.pos++;
  }

  #close(value: JsonValue): void {
    this.#open.pop();
    this.#cursor.pos++;
    this.#add(value);
  }

  #add(value: JsonValue): void {
    this.#budget.spend(VALUE_BYTES, oneMoreValue);
    const frame = this.#open.at(-1);
    if (frame === undefined) this.#root = value;
    else frame.add(value);
  }
}
