import { isPooled, MemoryPool } from "./memory-pool.ts";

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
