import { getHeapStatistics } from "node:v8";
import { containerRoom } from "../limits/memory/container-room.ts";
import { collectAll } from "../limits/memory/young-garbage.ts";

/**
 * A heap of this size, in bytes, is collected: an idle thread would keep it, since V8 collects when something is made.
 */
const LARGE_HEAP_BYTES = 64 * 1024 * 1024;
/** Share of what a container has left that a thread may keep in its place. */
const KEPT_SHARE = 1 / 16;

/** Frees what large work left in the heap of this thread, and in the buffers that its garbage refers to. */
export function collectLargeHeap(): void {
  const { total_heap_size: heapBytes, external_memory: externalBytes } = getHeapStatistics();
  if (heapBytes + externalBytes >= largeHeapBytes()) collectAll();
}

/** Size from which a heap is collected, in bytes: less where the container is short of memory. */
function largeHeapBytes(): number {
  return Math.min(LARGE_HEAP_BYTES, containerRoom.freeBytes * KEPT_SHARE);
}
