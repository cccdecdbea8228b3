const EMPTY = new Uint8Array(0);

/** Bytes gathered from one or more places: the first block stays a view of where it came from, later ones cause a copy. */
export class ByteList {
  #bytes: Uint8Array = EMPTY;
  #length = 0;
  #isOwned = false;

  append(block: Uint8Array): void {
    if (this.#length === 0) {
      this.#bytes = block;
      this.#length = block.length;
      return;
    }
    const length = this.#length + block.length;
    if (!this.#isOwned || length > this.#bytes.length) this.#grow(length);
    this.#bytes.set(block, this.#length);
    this.#length = length;
  }

  /** Everything appended so far, in order. */
  contents(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #grow(atLeast: number): void {
    const larger = new Uint8Array(atLeast * 2);
    larger.set(this.contents());
    this.#bytes = larger;
    this.#isOwned = true;
  }
}
