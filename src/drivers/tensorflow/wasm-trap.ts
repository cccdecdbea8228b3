import { isMainThread } from "node:worker_threads";
import { ServingError } from "../../errors.ts";

/** Time for the answer of the request that trapped, in milliseconds. */
const GRACE_MS = 20;

let hasTrapped = false;

/**
 * Throws `unavailable` once WebAssembly has trapped in this thread: its memory may
 * hold anything, so that nothing in it may run again.
 */
export function refuseAfterTrap(): void {
  if (hasTrapped) throw new ServingError("unavailable", "The model failed in WebAssembly and is loaded again.");
}

/**
 * Notes what a call into WebAssembly threw. After a trap or an abort it ends this thread, which the server replaces;
 * until then the model is not ready.
 */
export function noteTrap(reason: unknown): void {
  if (!(reason instanceof Error && reason.name === "RuntimeError") || hasTrapped) return;
  hasTrapped = true;
  if (isMainThread) return;
  setTimeout(() => {
    throw new ServingError("unavailable", "WebAssembly has trapped.", { cause: reason });
  }, GRACE_MS);
}
