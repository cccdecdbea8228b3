import { readSync } from "node:fs";

/** Number of bytes to read at a time; most models' inputs and outputs are within a few of these. */
const WINDOW_BYTES = 64 * 1024;

/** One field of a protobuf message: its number, and the place of its content. */
export interface ProtobufField {
  readonly number: number;
  /** Beginning and end of the content; for a varint and fixed widths the bytes of the value itself. */
  readonly start: number;
  readonly end: number;
  /** 2 = a text, bytes or a message. */
  readonly wireType: number;
  /** The value of a varint, else 0. */
  readonly value: number;
}

/** Error for bytes of the file that cannot be protobuf, or that end beyond their message. */
export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
  /** The field that is longer than its message, if there is one. */
  readonly overlong: ProtobufField | undefined;

  constructor(message: string, overlong?: ProtobufField) {
    super(message);
    this.overlong = overlong;
  }
}

/** Walks protobuf messages in a file and reads only the requested fields, so that gigabytes of weights cost nothing. */
export class ProtobufFile {
  readonly #descriptor: number;
  #window: Buffer = Buffer.alloc(0);
  #windowStart = 0;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** The fields of the message between two places; throws {@link ProtobufError}. */
  *fields(start: number, end: number): Generator<ProtobufField> {
    for (let position = start; position < end; ) {
      const field = this.#field(position);
      if (field.end > end) throw new ProtobufError(`Field ${field.number} ends beyond its message.`, field);
      yield field;
      position = field.end;
    }
  }

  /** A field's text. */
  text(field: ProtobufField): string {
    return this.bytes(field.start, field.end - field.start).toString();
  }

  /** The bytes at a place; fewer if the file ends. */
  bytes(start: number, length: number): Buffer {
    const offset = start - this.#windowStart;
    if (offset >= 0 && offset + length <= this.#window.length) return this.#window.subarray(offset, offset + length);
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(this.#descriptor, bytes, 0, length, start));
  }

  #field(position: number): ProtobufField {
    const key = this.#varint(position);
    const field = { number: Math.floor(key.value / 8), wireType: key.value % 8, start: key.end, value: 0 };
    if (field.number === 0) throw new ProtobufError("Field 0 does not exist.");
    switch (field.wireType) {
      case 0:
        return { ...field, ...this.#varint(key.end) };
      case 1:
        return { ...field, end: key.end + 8 };
      case 2: {
        const length = this.#varint(key.end);
        return { ...field, start: length.end, end: length.end + length.value };
      }
      case 5:
        return { ...field, end: key.end + 4 };
      default:
        throw new ProtobufError(`Wire type ${field.wireType} does not exist.`);
    }
  }

  /** The numbers of a repeated integer of 64 bits, packed or alone. */
  integers({ start, end }: Pick<ProtobufField, "start" | "end">): bigint[] {
    const found: bigint[] = [];
    let [value, shift] = [0n, 0n];
    for (const byte of this.bytes(start, end - start)) {
      value |= BigInt(byte & 0x7f) << shift;
      shift += 7n;
      if (byte >= 0x80) continue;
      found.push(BigInt.asIntN(64, value));
      [value, shift] = [0n, 0n];
    }
    return found;
  }

  #varint(start: number): { value: number; end: number } {
    let value = 0;
    // Ten bytes hold 64 bits; a longer varint is malformed.
    for (let index = 0; index < 10; index++) {
      const byte = this.#byte(start + index);
      value += (byte & 0x7f) * 2 ** (7 * index);
      if (byte < 0x80) return { value, end: start + index + 1 };
    }
    throw new ProtobufError("A varint has more than ten bytes.");
  }

  #byte(position: number): number {
    if (position < this.#windowStart || position >= this.#windowStart + this.#window.length) {
      this.#window = this.bytes(position, WINDOW_BYTES);
      this.#windowStart = position;
    }
    const byte = this.#window[position - this.#windowStart];
    if (byte === undefined) throw new ProtobufError("The file ends within a field.");
    return byte;
  }
}
