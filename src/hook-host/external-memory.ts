import { getHeapStatistics } from "node:v8";

/** Milliseconds between two looks at it. */
const INTERVAL_MS = 100;

/**
 * Calls back, once, when this thread's buffers and other memory outside its JavaScript heap, which no limit of V8 bounds, take more than `limitMb` megabytes.
 * A thread whose event loop stands still is not seen.
 */
export function watchExternalMemory(limitMb: number, onExceeded: () => void): void {
  const timer = setInterval(() => {
    if (getHeapStatistics().external_memory <= limitMb * 2 ** 20) return;
    clearInterval(timer);
    onExceeded();
  }, INTERVAL_MS).unref();
}
