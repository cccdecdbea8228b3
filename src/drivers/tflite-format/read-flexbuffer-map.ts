/** Types of https://flatbuffers.dev/flexbuffers: their numbers, shifted by the two bits of their children's width. */
const TYPE = { string: 5, map: 9 } as const;

/** No signature has a longer name. */
const MAX_KEY_BYTES = 4096;
/** Texts may be shared, as equal signatures are; all together may be this many times longer than the bytes. */
const MAX_SHARING = 16;

/**
 * The texts and byte strings of a FlexBuffer whose root is a map, by their keys; values of other types are left out.
 * Throws RangeError for bytes in another form, and for offsets beyond their end.
 */
export function readFlexbufferMap(bytes: Uint8Array): Map<string, Uint8Array> {
  const reader = new FlexReader(bytes);
  const end = bytes.length - 2;
  const { kind, width } = typeAt(reader.uint(end, 1));
  if (kind !== TYPE.map) throw new RangeError("its root is not a map");
  return reader.map(reader.follow(end - reader.uint(end + 1, 1), reader.uint(end + 1, 1)), width);
}

function typeAt(packed: number): { readonly kind: number; readonly width: number } {
  return { kind: packed >>> 2, width: 1 << (packed & 3) };
}

class FlexReader {
  readonly #bytes: Uint8Array;
  #textBytes = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** An unsigned number of so many bytes. */
  uint(at: number, width: number): number {
    if (at < 0 || at + width > this.#bytes.length)
      throw new RangeError(`it refers to byte ${at} of ${this.#bytes.length}`);
    let value = 0;
    for (let index = width - 1; index >= 0; index--) value = value * 256 + this.#bytes[at + index]!;
    return value;
  }

  /** The place that an offset leads back to. */
  follow(at: number, width: number): number {
    return at - this.uint(at, width);
  }

  /** Before the values of a map stand the place and width of its keys and the number of both, behind them the types. */
  map(values: number, width: number): Map<string, Uint8Array> {
    const count = this.uint(values - width, width);
    const keyWidth = this.uint(values - 2 * width, width);
    const keys = this.follow(values - 3 * width, width);
    if (count > this.#bytes.length) throw new RangeError(`it claims ${count} entries`);
    const found = new Map<string, Uint8Array>();
    for (let index = 0; index < count; index++) {
      const { kind, width: own } = typeAt(this.uint(values + count * width + index, 1));
      if (kind !== TYPE.string) continue;
      found.set(
        this.#key(keys + index * keyWidth, keyWidth),
        this.#string(this.follow(values + index * width, width), own),
      );
    }
    return found;
  }

  #key(at: number, width: number): string {
    const start = this.follow(at, width);
    const key = this.#bytes.subarray(Math.max(0, start), start + MAX_KEY_BYTES);
    const end = key.indexOf(0);
    if (start < 0 || end === -1) throw new RangeError("a key has no end");
    return Buffer.from(key.subarray(0, end)).toString();
  }

  #string(start: number, width: number): Uint8Array {
    const length = this.uint(start - width, width);
    if (start + length > this.#bytes.length) throw new RangeError("a text has no end");
    this.#textBytes += length;
    if (this.#textBytes > MAX_SHARING * this.#bytes.length) throw new RangeError("its texts are shared too often");
    return this.#bytes.subarray(start, start + length);
  }
}
