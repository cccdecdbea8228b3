import type { CancelSignal } from "./cancel-source.ts";

/** Settles as the promise does, or rejects with the signal's reason when that aborts first. */
export function unlessAborted<Result>(promise: Promise<Result>, signal: CancelSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
