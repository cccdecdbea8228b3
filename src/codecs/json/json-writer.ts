const ZERO = 0x30;
const MINUS = 0x2d;
const INITIAL_BYTES = 1024;
/** The longest number that is written digit by digit: sign, ten digits. */
const MAX_INT32_BYTES = 11;

/** JSON text under construction, in a buffer that grows. */
export class JsonWriter {
  #buffer: Buffer;
  #length = 0;

  /** `expectedBytes` spares the buffer some growing. */
  constructor(expectedBytes = INITIAL_BYTES) {
    this.#buffer = Buffer.allocUnsafe(Math.max(expectedBytes, INITIAL_BYTES));
  }

  /** Room for `bytes` more; what is written there counts once {@link advance} says so. Start writing at {@link length}. */
  reserve(bytes: number): Buffer {
    if (this.#length + bytes > this.#buffer.length) this.#grow(bytes);
    return this.#buffer;
  }

  get length(): number {
    return this.#length;
  }

  /** Counts what was written up to `end`. */
  advance(end: number): void {
    this.#length = end;
  }

  /** ASCII text as it is: brackets, commas, numbers. */
  ascii(text: string): void {
    const buffer = this.reserve(text.length);
    let at = this.#length;
    for (let index = 0; index < text.length; index++) buffer[at++] = text.charCodeAt(index);
    this.#length = at;
  }

  /** A JSON string. */
  string(text: string): void {
    const json = JSON.stringify(text);
    const buffer = this.reserve(3 * json.length);
    this.#length += buffer.write(json, this.#length, "utf8");
  }

  /** UTF-8 bytes as a JSON string. */
  text(bytes: Uint8Array): void {
    this.string(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
  }

  /** A JSON string that holds bytes as standard base64. */
  base64(bytes: Uint8Array): void {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
    const buffer = this.reserve(text.length + 2);
    buffer[this.#length++] = 0x22;
    this.#length += buffer.write(text, this.#length, "latin1");
    buffer[this.#length++] = 0x22;
  }

  /** An integer; of a number, one that fits 32 bits, signed or not. */
  integer(value: number | bigint): void {
    if (typeof value === "bigint") {
      this.ascii(value.toString());
      return;
    }
    const buffer = this.reserve(MAX_INT32_BYTES);
    if (value < 0) buffer[this.#length++] = MINUS;
    this.#length = writeDigits(buffer, this.#length, Math.abs(value));
  }

  /** All that was written, without a copy. */
  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #grow(bytes: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.#buffer.length, this.#length + bytes));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
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
