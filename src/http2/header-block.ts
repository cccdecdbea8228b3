import { ConnectionError, ERROR } from "./protocol.ts";

/** Frames that a header block may have, besides one for each kilobyte. */
const SPARE_FRAMES = 8;
const BYTES_PER_FRAME = 1024;

/**
 * A header block of several frames (RFC 9113 §6.10). Throws the error that ends the connection once it is too large or
 * in too many frames (CVE-2024-27316): what a table does not get is lost for the next block.
 */
export class HeaderBlock {
  readonly id: number;
  /** Those of its first frame. */
  readonly flags: number;
  bytes: Buffer = Buffer.alloc(0);
  length = 0;
  readonly #maxBytes: number;
  #frames = 0;

  constructor(id: number, flags: number, maxBytes: number) {
    this.id = id;
    this.flags = flags;
    this.#maxBytes = maxBytes;
  }

  /** Adds the fragment that lies between two indexes. */
  add(fragment: Buffer, start: number, end: number): void {
    const length = this.length + end - start;
    this.#frames++;
    const isTooMuch = length > this.#maxBytes || this.#frames > SPARE_FRAMES + length / BYTES_PER_FRAME;
    if (isTooMuch) throw new ConnectionError(ERROR.enhanceYourCalm, "too_many_headers");
    if (length > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * length);
      this.bytes.copy(larger, 0, 0, this.length);
      this.bytes = larger;
    }
    fragment.copy(this.bytes, this.length, start, end);
    this.length = length;
  }
}
