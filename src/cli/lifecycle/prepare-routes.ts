/** Milliseconds after the start: neither its last lines nor a first request wait for it. */
const DELAY_MS = 200;

/**
 * Imports what answers requests other than inference soon after the start, which it would have held up: the first such
 * request would keep the main thread for some 50 ms, and all others waiting.
 */
export function prepareRoutes(): void {
  const load = () => void import("../../proxy/app.ts").catch(() => {});
  setTimeout(load, DELAY_MS).unref();
}
