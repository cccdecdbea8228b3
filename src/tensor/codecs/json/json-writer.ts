import type { DType, NumericData, NumericDType } from "../../dtype.ts";
import { createTensor, elementCount, type Tensor } from "../../tensor.ts";

const SPACE = 0x20;
const QUOTE = 0x22;
const ZERO = 0x30;
const MINUS = 0x2d;
const BACKSLASH = 0x5c;
const TILDE = 0x7e;
/** Strings up to this length are written by JavaScript: a call of Node's own code takes as long as it does for them. */
const SHORT_LENGTH = 64;
const INITIAL_BYTES = 1024;
/**
 * Bytes that become text at once: one string cannot hold all that a tensor's element may, 3 bytes are 4 digits of
 * base64.
 */
const PIECE_BYTES = 3 * 2 ** 20;
/** The longest number that is written digit by digit: sign, ten digits. */
const MAX_INT32_BYTES = 11;

/**
 * Replacement of NaN and infinities in strict JSON: null for each; or null for NaN,
 * and for an infinity the largest value of its dtype.
 */
export type NonFiniteRule = "null" | "largest";

/** Style in which a protocol writes numbers. */
export interface NumberStyle {
  /** Between the elements of a list. */
  readonly separator: ", " | ",";
  /** Replacement of NaN and infinities; absent = the bare words, which only lenient readers accept. */
  readonly nonFinite?: NonFiniteRule | undefined;
}

/** JSON text under construction, in a buffer that grows. */
export class JsonWriter {
  #buffer: Buffer;
  #view: DataView | undefined;
  #length = 0;

  /**
   * The number of bytes that are expected spares the buffer some growing; or memory to
   * write to, as far as the text fits.
   */
  constructor(expected: number | Uint8Array = INITIAL_BYTES) {
    this.#buffer =
      typeof expected === "number" ? Buffer.allocUnsafe(Math.max(expected, INITIAL_BYTES)) : toBuffer(expected);
  }

  /** Room for `bytes` more, from {@link length} on; written bytes count after {@link advance}. */
  reserve(bytes: number): DataView {
    const buffer = this.#room(bytes);
    this.#view ??= new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
    return this.#view;
  }

  get length(): number {
    return this.#length;
  }

  /** Counts the bytes written up to `end`. */
  advance(end: number): void {
    this.#length = end;
  }

  /** Appends ASCII text without escapes: brackets, commas, numbers. */
  ascii(text: string): void {
    const buffer = this.#room(text.length);
    let at = this.#length;
    for (let index = 0; index < text.length; index++) buffer[at++] = text.charCodeAt(index);
    this.#length = at;
  }

  /** A JSON string. */
  string(text: string): void {
    if (text.length > SHORT_LENGTH || !this.#writePlain(text)) this.#write(JSON.stringify(text));
  }

  /** UTF-8 bytes, of any number, as a JSON string. */
  text(bytes: Uint8Array): void {
    const buffer = toBuffer(bytes);
    if (bytes.length <= PIECE_BYTES) {
      this.string(buffer.toString("utf8"));
      return;
    }
    for (let start = 0, end = 0; start < bytes.length; start = end) {
      end = characterStart(bytes, start + PIECE_BYTES);
      // Over the closing quote of the piece before, and without the opening one.
      if (start > 0) this.#length--;
      this.#write(JSON.stringify(buffer.toString("utf8", start, end)).slice(start > 0 ? 1 : 0));
    }
  }

  /** A JSON string that holds bytes, of any number, as standard base64. */
  base64(bytes: Uint8Array): void {
    const source = toBuffer(bytes);
    const target = this.#room(4 * Math.ceil(bytes.length / 3) + 2);
    target[this.#length++] = QUOTE;
    for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
      const text = source.toString("base64", start, Math.min(start + PIECE_BYTES, bytes.length));
      this.#length += target.write(text, this.#length, "latin1");
    }
    target[this.#length++] = QUOTE;
  }

  /** An integer; of a number, one that fits 32 bits, signed or not. */
  integer(value: number | bigint): void {
    if (typeof value === "bigint") {
      this.ascii(value.toString());
      return;
    }
    const buffer = this.#room(MAX_INT32_BYTES);
    if (value < 0) buffer[this.#length++] = MINUS;
    this.#length = writeDigits(buffer, this.#length, Math.abs(value));
  }

  /** All that was written, without a copy. */
  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #room(bytes: number): Buffer {
    if (this.#length + bytes > this.#buffer.length) this.#grow(bytes);
    return this.#buffer;
  }

  /** Writes a string without escapes and in ASCII, such as a name; returns false, and writes nothing, for any other. */
  #writePlain(text: string): boolean {
    const buffer = this.#room(text.length + 2);
    let at = this.#length;
    buffer[at++] = QUOTE;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code < SPACE || code > TILDE || code === QUOTE || code === BACKSLASH) return false;
      buffer[at++] = code;
    }
    buffer[at++] = QUOTE;
    this.#length = at;
    return true;
  }

  #write(text: string): void {
    const buffer = this.#room(3 * text.length);
    this.#length += buffer.write(text, this.#length, "utf8");
  }

  #grow(bytes: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.#buffer.length, this.#length + bytes));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
    this.#view = undefined;
  }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The last position up to `end` at which a character of UTF-8 begins, or the text is over. */
function characterStart(bytes: Uint8Array, end: number): number {
  if (end >= bytes.length) return bytes.length;
  let start = end;
  while ((bytes[start]! & 0xc0) === 0x80) start--;
  return start;
}

/** Writes an unsigned integer of up to 32 bits; returns where it ends. */
function writeDigits(buffer: Uint8Array, start: number, value: number): number {
  let digits = 1;
  for (let limit = 10; value >= limit; limit *= 10) digits++;
  let rest = value >>> 0;
  for (let at = start + digits - 1; at >= start; at--) {
    const tenth = (rest / 10) >>> 0;
    buffer[at] = ZERO + rest - tenth * 10;
    rest = tenth;
  }
  return start + digits;
}

/** Values that an outline lacks: what writeItems writes of a tensor. */
export interface LeftOut {
  /** Numbers or booleans, of rank 1 at least. */
  readonly items: Tensor;
  readonly style: NumberStyle;
}

/** Elements of a list that is left out: writing fewer takes no longer than to have them written elsewhere. */
const MIN_ELEMENTS = 1024;

/** Checks if an outline lacks a list of so many elements. */
export function isLeftOut(dtype: DType, elements: number): boolean {
  return dtype !== "bytes" && elements > MIN_ELEMENTS;
}

/** JSON text without its long lists of numbers, which others write, in parts and at the same time. */
export class JsonOutline extends JsonWriter {
  readonly #gaps: { readonly at: number; readonly leftOut: LeftOut }[] = [];

  /** Notes values that stand here in the text. */
  leaveOut({ items, style: { separator, nonFinite } }: LeftOut): void {
    this.#gaps.push({ at: this.length, leftOut: { items, style: { separator, nonFinite } } });
  }

  /** The text so far, in order; bytes are views of it. */
  parts(): readonly (Uint8Array | LeftOut)[] {
    const text = this.finish();
    const parts: (Uint8Array | LeftOut)[] = [];
    let from = 0;
    for (const { at, leftOut } of this.#gaps) {
      parts.push(text.subarray(from, at), leftOut);
      from = at;
    }
    return [...parts, text.subarray(from)];
  }
}

/**
 * Cuts values that an outline lacks into parts of about `maxElements` at most, with the brackets and separators between
 * them: the texts of all, in order, are that of the whole.
 */
export function* splitItems({ items, style }: LeftOut, maxElements: number): Generator<Uint8Array | LeftOut> {
  const [count = 0, ...inner] = items.shape;
  const stride = count === 0 ? 0 : elementCount(items.shape) / count;
  const atOnce = Math.max(1, Math.floor(maxElements / stride));
  const isDeep = stride > maxElements && inner.length > 0;
  for (let from = 0; from < count; from += atOnce) {
    if (from > 0) yield Buffer.from(style.separator);
    const part = rows(items, from, Math.min(from + atOnce, count));
    if (isDeep) yield* listOf({ items: { ...part, shape: inner } as Tensor, style }, maxElements);
    else yield { items: part, style };
  }
}

function* listOf(leftOut: LeftOut, maxElements: number): Generator<Uint8Array | LeftOut> {
  yield Buffer.from("[");
  yield* splitItems(leftOut, maxElements);
  yield Buffer.from("]");
}

function rows({ dtype, shape, data }: Tensor, from: number, end: number): Tensor {
  const stride = elementCount(shape) / shape[0]!;
  const part = (data as NumericData).subarray(from * stride, end * stride);
  return createTensor(dtype as NumericDType, [end - from, ...shape.slice(1)], part as never);
}
