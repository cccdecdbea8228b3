import { createPackedTensor } from "./packed-tensor.ts";
import { createTensor, type Tensor } from "./tensor.ts";

const FIRST_CAPACITY = 8;
const FIRST_BYTES = 256;

/** Ranges of the elements of a `bytes` tensor in a block of bytes, while they are found. */
export class ByteRanges {
  #ranges = new Uint32Array(FIRST_CAPACITY);
  #length = 0;
  #byteLength = 0;

  /** Number of elements. */
  get count(): number {
    return this.#length / 2;
  }

  /** Length of the last element; 0 without one. */
  get lastBytes(): number {
    return this.#length === 0 ? 0 : this.#ranges[this.#length - 1]! - this.#ranges[this.#length - 2]!;
  }

  /** Adds the element from `start` to `end`. */
  push(start: number, end: number): void {
    if (this.#length === this.#ranges.length) this.#grow(2 * this.#length);
    this.#ranges[this.#length++] = start;
    this.#ranges[this.#length++] = end;
    this.#byteLength += end - start;
  }

  /**
   * Adjusts the number of elements to `count`: drops surplus ones, repeats the last one (or adds empty ones, if there
   * is none).
   */
  fit(count: number): void {
    const missing = count - this.count;
    if (missing <= 0) {
      for (let at = 2 * count; at < this.#length; at += 2)
        this.#byteLength -= this.#ranges[at + 1]! - this.#ranges[at]!;
      this.#length = 2 * count;
      return;
    }
    const start = this.#ranges[this.#length - 2] ?? 0;
    const end = this.#ranges[this.#length - 1] ?? 0;
    this.#grow(2 * count);
    while (this.count < count) this.push(start, end);
  }

  /** A tensor that views its elements in `content`. Throws `invalid_argument` unless their number matches `shape`. */
  toTensor(shape: readonly number[], content: Uint8Array): Tensor<"bytes"> {
    const ranges = this.#ranges.subarray(0, this.#length);
    if (this.#length === 0) return createTensor("bytes", shape, []);
    return createPackedTensor(shape, { content, ranges, byteLength: this.#byteLength });
  }

  #grow(capacity: number): void {
    const grown = new Uint32Array(capacity);
    grown.set(this.#ranges.subarray(0, this.#length));
    this.#ranges = grown;
  }
}

/** Maximum number of UTF-8 bytes of one UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3;

/** The elements of a `bytes` tensor while they are made, one behind the other in one block. */
export class BytesBuilder {
  readonly #ranges = new ByteRanges();
  #content = Buffer.allocUnsafe(FIRST_BYTES);
  #length = 0;

  /** Number of elements. */
  get count(): number {
    return this.#ranges.count;
  }

  /** Bytes of all elements. */
  get byteLength(): number {
    return this.#length;
  }

  /** Adds an element: bytes, or a text as UTF-8. */
  append(element: string | Uint8Array): void {
    const start = this.#length;
    if (typeof element === "string") {
      this.#reserve(MAX_BYTES_PER_UNIT * element.length);
      this.#length += this.#content.write(element, start);
    } else {
      this.#reserve(element.length);
      this.#content.set(element, start);
      this.#length += element.length;
    }
    this.#ranges.push(start, this.#length);
  }

  /** The tensor of all elements. Throws `invalid_argument` unless there are as many as `shape` claims. */
  finish(shape: readonly number[]): Tensor<"bytes"> {
    const { buffer, byteOffset } = this.#content;
    return this.#ranges.toTensor(shape, new Uint8Array(buffer, byteOffset, this.#length));
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#content.length) return;
    // Not from the pool: the memory of large elements may be transferred to another thread.
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#content.length));
    grown.set(this.#content.subarray(0, this.#length));
    this.#content = grown;
  }
}
