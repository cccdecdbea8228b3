import { ServingError } from "../errors.ts";

const NUL = 0;
const CLOSING = new Set([...'}]"'].map((character) => character.charCodeAt(0)));

/** Where a reader of JSON text stands, and what it has learnt about the number it read last. */
export class JsonCursor {
  /**
   * The text. Its last byte is a closing bracket, brace or quote, or a NUL that was appended,
   * so that scanning a number never runs past the end: a read out of bounds would slow the whole scan down.
   */
  readonly bytes: Buffer;
  /** Length of the text without an appended NUL. */
  readonly end: number;
  pos = 0;
  /** Whether the last number was an integer literal (no fraction, no exponent) that fits 64 bits. */
  integral = false;
  /** The last number exactly, where it is an integer literal that a double does not hold. */
  exact: bigint | undefined;

  constructor(text: Uint8Array) {
    const bytes = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
    this.end = bytes.length;
    this.bytes = CLOSING.has(bytes.at(-1) ?? NUL) ? bytes : Buffer.concat([bytes, Buffer.of(NUL)]);
  }

  /** Moves past spaces, tabs and line ends. */
  skipSpace(): void {
    const { bytes, end } = this;
    let pos = this.pos;
    while (pos < end && isSpace(bytes[pos] as number)) pos++;
    this.pos = pos;
  }

  /** The error for a text that is not JSON, with the words and the offset that TensorFlow Serving's parser gives. */
  error(what: string, offset = this.pos): ServingError {
    return new ServingError("invalid_argument", `JSON Parse error: ${what} at offset: ${Math.min(offset, this.end)}`);
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
