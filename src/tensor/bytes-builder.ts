import { ByteRanges } from "./byte-ranges.ts";
import type { Tensor } from "./tensor.ts";

const FIRST_BYTES = 256;
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
