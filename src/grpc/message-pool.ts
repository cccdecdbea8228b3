/** Bytes that are kept at most: two dozen photos as numbers. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;
/** Smaller buffers cost little to make. */
const MIN_KEPT_BYTES = 64 * 1024;
/**
 * Largest number of bytes that a buffer may have beyond those needed: one that is much larger than its tensor is not
 * transferred to other threads.
 */
const MAX_SPARE_BYTES = 512;

/**
 * Memory of large messages that are done with, for the next ones: new memory costs a page fault for every 4 KB, and V8 collects
 * garbage as if its heap had grown by it.
 */
export class MessagePool {
  /** Oldest first. */
  readonly #kept: ArrayBuffer[] = [];
  #keptBytes = 0;

  /** Memory for so many bytes, with whatever lies in it; undefined where there is none that fits. */
  take(bytes: number): ArrayBuffer | undefined {
    if (!isPooled(bytes)) return undefined;
    const index = this.#kept.findLastIndex(({ byteLength }) => isFit(byteLength - bytes));
    return index < 0 ? undefined : this.#remove(index);
  }

  /** Takes memory that is no longer read; what was transferred to another thread has no length, and is left. */
  release(memory: ArrayBuffer): void {
    const { byteLength } = memory;
    if (!isPooled(byteLength)) return;
    while (this.#keptBytes + byteLength > MAX_KEPT_BYTES) this.#remove(0);
    this.#keptBytes += byteLength;
    this.#kept.push(memory);
  }

  #remove(index: number): ArrayBuffer {
    const [memory] = this.#kept.splice(index, 1) as [ArrayBuffer];
    this.#keptBytes -= memory.byteLength;
    return memory;
  }
}

/** Checks that memory of so many bytes is worth keeping. */
export function isPooled(bytes: number): boolean {
  return bytes >= MIN_KEPT_BYTES && bytes <= MAX_KEPT_BYTES;
}

function isFit(spareBytes: number): boolean {
  return spareBytes >= 0 && spareBytes <= MAX_SPARE_BYTES;
}
