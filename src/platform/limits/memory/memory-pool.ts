/** Maximum number of pooled bytes: two dozen photos as numbers. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;
/** Smaller buffers are cheap to allocate. */
const MIN_KEPT_BYTES = 64 * 1024;
/** A buffer that is much larger than its tensor is not transferred to other threads. */
const MAX_SPARE_BYTES = 512;

/**
 * Reusable memory of large contents: new memory costs a page fault for every 4 KB, and makes V8 collect garbage as if
 * its heap had grown.
 */
export class MemoryPool {
  readonly #maxSpareBytes: number;
  /** Oldest first. */
  readonly #kept: ArrayBuffer[] = [];
  #keptBytes = 0;

  /** `maxSpareBytes`: bytes that memory may have beyond those needed. */
  constructor(maxSpareBytes = MAX_SPARE_BYTES) {
    this.#maxSpareBytes = maxSpareBytes;
  }

  /** Memory of at least this size, with arbitrary contents; undefined if none fits. */
  take(bytes: number): ArrayBuffer | undefined {
    if (!isPooled(bytes)) return undefined;
    const isFit = (spareBytes: number) => spareBytes >= 0 && spareBytes <= this.#maxSpareBytes;
    const index = this.#kept.findLastIndex(({ byteLength }) => isFit(byteLength - bytes));
    return index < 0 ? undefined : this.#remove(index);
  }

  /**
   * Adds memory that is no longer read; a buffer that was transferred to another thread has length 0, and is ignored.
   */
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

/** Checks that memory of this size is worth pooling. */
export function isPooled(bytes: number): boolean {
  return bytes >= MIN_KEPT_BYTES && bytes <= MAX_KEPT_BYTES;
}

/** Memory of exactly the size that is needed: what lies behind a content would be another request's. */
const pool = new MemoryPool(0);
const borrowed = new WeakSet<ArrayBufferLike>();

/**
 * Memory for a content of one request, which has to be written whole: it may hold what another request has left. It is
 * garbage like any other unless it is returned.
 */
export function borrowMemory(bytes: number): ArrayBuffer {
  const memory = pool.take(bytes) ?? Buffer.allocUnsafeSlow(bytes).buffer;
  markBorrowed(memory);
  return memory;
}

/** Marks memory without other users as borrowed: what another thread returns is a new object. */
export function markBorrowed(memory: ArrayBufferLike): void {
  if (isPooled(memory.byteLength)) borrowed.add(memory);
}

/**
 * Takes memory back, if it was borrowed: it is detached, so that views of it become empty, and do not show the next
 * request's content. Any other memory is left as it is.
 */
export function returnMemory(memory: ArrayBufferLike): void {
  if (!borrowed.delete(memory) || memory.byteLength === 0) return;
  pool.release(structuredClone(memory as ArrayBuffer, { transfer: [memory as ArrayBuffer] }));
}
