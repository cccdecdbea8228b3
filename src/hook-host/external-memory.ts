import { getHeapStatistics } from "node:v8";

/** Time between two checks of it, in milliseconds. */
const INTERVAL_MS = 100;

/**
 * Calls back, once, when this thread's memory outside its JavaScript heap, such as buffers, exceeds `limitMb`
 * megabytes; V8 has no limit for it.
 * While the thread's event loop hangs, the check does not run.
 */
export function watchExternalMemory(limitMb: number, onExceeded: () => void): void {
  const timer = setInterval(() => {
    if (getHeapStatistics().external_memory <= limitMb * 2 ** 20) return;
    clearInterval(timer);
    onExceeded();
  }, INTERVAL_MS).unref();
}
