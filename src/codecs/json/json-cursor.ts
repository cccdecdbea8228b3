import { invalidArgument, type ServingError } from "../../errors.ts";

const NUL = 0;
/** Bytes that no number goes on with: what a text usually ends with. */
const STOPS = new Set([...'}]" \n\r\t'].map((character) => character.charCodeAt(0)));

/** Position of a reader in JSON text. */
export class JsonCursor {
  /**
   * The text. Its last byte cannot be part of a number (a NUL is appended where it could): so scanning a number
   * never runs past the end, which would slow all scans down for good.
   */
  readonly bytes: Buffer;
  /** Length of the text without an appended NUL. */
  readonly end: number;
  pos = 0;

  constructor(text: Uint8Array) {
    const bytes = Buffer.isBuffer(text) ? text : Buffer.from(text.buffer, text.byteOffset, text.byteLength);
    this.end = bytes.length;
    this.bytes = STOPS.has(bytes[bytes.length - 1] ?? NUL) ? bytes : Buffer.concat([bytes, Buffer.of(NUL)]);
  }

  /** Moves past the mark that some Windows programs put before UTF-8 text. */
  skipByteOrderMark(): void {
    const { bytes } = this;
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) this.pos = 3;
  }

  /** Moves past spaces, tabs and line ends. */
  skipSpace(): void {
    const { bytes, end } = this;
    let pos = this.pos;
    while (pos < end && isSpace(bytes[pos]!)) pos++;
    this.pos = pos;
  }

  /** The error for invalid JSON, with the text and the offset of TensorFlow Serving's parser. */
  error(what: string, offset = this.pos): ServingError {
    return invalidArgument(`JSON Parse error: ${what} at offset: ${Math.min(offset, this.end)}`);
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
