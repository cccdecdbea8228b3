import { unlessAborted } from "../../async/unless-aborted.ts";
import { failedPrecondition } from "../../errors.ts";
import { AbandonedRuns } from "../../native/abandoned-runs.ts";
import { Turns } from "../../native/turns.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { CompiledNetwork, InferRequest } from "./engine.ts";
import type { Runner } from "./runner.ts";

/** Treatment of a compiled network's requests. */
export interface PoolChoice {
  /** Treatment of a run's state: the next run finds it, or begins without. */
  readonly state: "none" | "keep" | "reset";
  /** Called when runs that no client waits for do not end, and leave no room for others. */
  readonly onStuck: () => void;
  /** Called when one of them has ended after all. */
  readonly onFreed: () => void;
}

/**
 * Milliseconds that such runs may leave no room: longer than most operators take, between which a run can be cancelled.
 */
const STUCK_MS = 1000;

/** A compiled network with its infer requests. */
export class RequestPool implements Runner {
  readonly concurrency: number;
  readonly #network: CompiledNetwork;
  readonly #state: PoolChoice["state"];
  readonly #free: InferRequest[] = [];
  /** The runs and their memory, which is read until they end, even after their callers have left. */
  readonly #running = new Map<InferRequest, readonly Tensor[]>();
  readonly #turns: Turns;
  readonly #abandoned: AbandonedRuns;
  /** The runs whose callers still wait. */
  readonly #answers = new Set<Promise<unknown>>();
  #closed = false;

  /** Takes over the network, but not before it is made. Allocates the requests, as many as can run. */
  constructor(network: CompiledNetwork, { state, onStuck, onFreed }: PoolChoice) {
    this.concurrency = state === "keep" ? 1 : optimalSize(network);
    this.#abandoned = new AbandonedRuns({ limit: this.concurrency, graceMs: STUCK_MS, onStuck, onFreed });
    this.#network = network;
    this.#state = state;
    this.#turns = new Turns(this.concurrency);
    while (this.#free.length < this.concurrency) this.#free.push(network.createRequest());
  }

  property(key: string): string {
    return this.#network.property(key);
  }

  run(inputs: readonly Tensor[], outputs: readonly number[], signal?: AbortSignal): Promise<Tensor[]> {
    if (this.#closed) return Promise.reject(failedPrecondition("The model is closed."));
    const run = this.#turns.run(() => this.#runNow(inputs, outputs, signal));
    const answer = signal === undefined ? run : unlessAborted(run, signal);
    this.#answers.add(answer);
    return answer.finally(() => this.#answers.delete(answer));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#answers);
    for (const request of this.#running.keys()) request.cancel();
    await this.#turns.idle();
    for (const request of this.#free) request.release();
    this.#network.release();
  }

  async #runNow(inputs: readonly Tensor[], outputs: readonly number[], signal?: AbortSignal): Promise<Tensor[]> {
    if (signal?.aborted) throw signal.reason;
    const isFresh = this.#state === "reset" || (this.#state === "none" && inputs.some(isEmpty));
    const request = (isFresh ? undefined : this.#free.pop()) ?? this.#network.createRequest();
    this.#running.set(request, inputs);
    const run = request.infer(inputs, outputs);
    const abandon = () => {
      request.cancel();
      this.#abandoned.add(run);
    };
    signal?.addEventListener("abort", abandon, { once: true });
    try {
      return await run;
    } finally {
      signal?.removeEventListener("abort", abandon);
      this.#running.delete(request);
      if (isFresh) request.release();
      else this.#free.push(request);
    }
  }
}

/**
 * The CPU plugin skips operators without elements, and some then leave an earlier run's output, perhaps another
 * client's, in the output.
 */
function isEmpty({ data }: Tensor): boolean {
  return data.length === 0;
}

function optimalSize(network: CompiledNetwork): number {
  const size = Number(network.property("OPTIMAL_NUMBER_OF_INFER_REQUESTS"));
  return Number.isInteger(size) && size > 0 ? size : 1;
}
