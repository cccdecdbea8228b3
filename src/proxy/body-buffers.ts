/** What is kept at most, in bytes. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;
/** Bodies up to this size may come in one piece, and then stay where they came. */
const SMALL_BYTES = 64 * 1024;

/**
 * Buffers that large bodies were read into, for other bodies. One that is made for each request outlives the collector's young
 * generations, and makes it mark everything that lives each time some of them have come together.
 */
export class BodyBuffers {
  /** Smallest first. */
  readonly #kept: Uint8Array[] = [];
  #keptBytes = 0;

  /** The smallest that holds so many bytes, if there is one, and they are many; others' bytes are still in it. */
  take(bytes: number): Uint8Array | undefined {
    const index = bytes > SMALL_BYTES ? this.#kept.findIndex(({ length }) => length >= bytes) : -1;
    if (index < 0) return undefined;
    const [buffer] = this.#kept.splice(index, 1) as [Uint8Array];
    this.#keptBytes -= buffer.length;
    return buffer;
  }

  /** Keeps the buffer of a body that nobody looks at any more, unless enough are kept already. */
  give(body: Uint8Array): void {
    const { byteLength } = body.buffer;
    if (body.length <= SMALL_BYTES || this.#keptBytes + byteLength > MAX_KEPT_BYTES) return;
    this.#keptBytes += byteLength;
    const index = this.#kept.findIndex(({ length }) => length >= byteLength);
    this.#kept.splice(index < 0 ? this.#kept.length : index, 0, new Uint8Array(body.buffer));
  }
}
