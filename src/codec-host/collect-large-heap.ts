import { getHeapStatistics } from "node:v8";
import { collectAll } from "../limits/memory/young-garbage.ts";

/**
 * A heap of this size, in bytes, is collected: an idle thread would keep it, since V8 collects when something is made.
 */
const LARGE_HEAP_BYTES = 64 * 1024 * 1024;

/** Frees what large work left in the heap of this thread, and in the buffers that its garbage refers to. */
export function collectLargeHeap(): void {
  const { total_heap_size: heapBytes, external_memory: externalBytes } = getHeapStatistics();
  if (heapBytes + externalBytes >= LARGE_HEAP_BYTES) collectAll();
}
