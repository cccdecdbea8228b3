import { ServingError } from "../../errors.ts";
import type { InferRequest, InferResponse } from "../../pipeline/infer-request.ts";
import { FairQueue } from "./fair-queue.ts";

type RunRequest = (request: InferRequest, kind: string) => Promise<InferResponse>;

/** A request that waits for a thread. */
interface Waiting {
  readonly request: InferRequest;
  readonly kind: string;
  readonly resolve: (result: Promise<InferResponse>) => void;
  readonly reject: (reason: unknown) => void;
  /** Stops listening to the request's signal, to which its thread listens from then on. */
  readonly stopWatching: () => void;
}

/**
 * Requests that wait for a thread: clients take turns, and each client's go by priority, fair to each kind. One whose
 * client has left is removed before it causes any work.
 */
export class RequestQueue {
  readonly #queue = new FairQueue<Waiting>();

  /**
   * Resolves with what {@link runNext} gets for the request; rejects if its client
   * leaves before, or with the reason of {@link clear}.
   */
  wait(request: InferRequest): Promise<InferResponse> {
    const { limits, signal } = request.call;
    // It would call no listener any more.
    if (signal.aborted) return Promise.reject(ServingError.from(signal.reason));
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#queue.remove(waiting);
        reject(ServingError.from(signal.reason));
      };
      const stopWatching = () => signal.removeEventListener("abort", abort);
      const kind = kindOfRequest(request);
      const waiting = { request, kind, resolve, reject, stopWatching };
      signal.addEventListener("abort", abort, { once: true });
      this.#queue.push(waiting, { limits, kind });
    });
  }

  /** Runs the next request, of certain kinds if only these may run; false if none waits. */
  runNext(run: RunRequest, mayRun?: (kind: string) => boolean): boolean {
    const next = this.#queue.shift(mayRun);
    if (next === undefined) return false;
    next.stopWatching();
    next.resolve(run(next.request, next.kind));
    return true;
  }

  /** Rejects all requests. */
  clear(reason: ServingError): void {
    for (const { reject, stopWatching } of this.#queue.clear()) {
      stopWatching();
      reject(reason);
    }
  }
}

/** The kind of a request, by its inputs: requests with other inputs are often for another model. */
export function kindOfRequest({ signature, inputs }: InferRequest): string {
  return inputs.kind === "json" ? "json" : JSON.stringify([signature.name, ...Object.keys(inputs.tensors)]);
}
