import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** A heap of this size, in bytes, is collected: an idle thread would keep it, since V8 collects when something is made. */
const LARGE_HEAP_BYTES = 64 * 1024 * 1024;

let collect: (() => void) | undefined;

/** Frees what large work left in the heap of this thread, and in the buffers that its garbage refers to. */
export function collectLargeHeap(): void {
  const { total_heap_size: heapBytes, external_memory: externalBytes } = getHeapStatistics();
  if (heapBytes + externalBytes < LARGE_HEAP_BYTES) return;
  collect ??= findCollector();
  collect();
}

/** V8 gives its collector to contexts that are made while this flag is set. */
function findCollector(): () => void {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  return gc;
}
