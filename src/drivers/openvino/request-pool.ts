import { CancellableRuns, type RunLimits } from "../../native/cancellable-runs.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { CompiledNetwork, InferRequest } from "./engine.ts";
import type { Runner } from "./runner.ts";

/** Treatment of a compiled network's requests. */
export interface PoolChoice extends Omit<RunLimits, "limit"> {
  /** Treatment of a run's state: the next run finds it, or begins without. */
  readonly state: "none" | "keep" | "reset";
}

/** A compiled network with its infer requests. */
export class RequestPool implements Runner {
  readonly concurrency: number;
  readonly #network: CompiledNetwork;
  readonly #state: PoolChoice["state"];
  readonly #free: InferRequest[] = [];
  /** The runs and their memory, which is read until they end, even after their callers have left. */
  readonly #running = new Map<InferRequest, readonly Tensor[]>();
  readonly #runs: CancellableRuns;

  /** Takes over the network, but not before it is made. Allocates the requests, as many as can run. */
  constructor(network: CompiledNetwork, { state, ...listeners }: PoolChoice) {
    this.concurrency = state === "keep" ? 1 : optimalSize(network);
    this.#network = network;
    this.#state = state;
    this.#runs = new CancellableRuns({ limit: this.concurrency, ...listeners });
    while (this.#free.length < this.concurrency) this.#free.push(network.createRequest());
  }

  property(key: string): string {
    return this.#network.property(key);
  }

  run(inputs: readonly Tensor[], outputs: readonly number[], signal?: AbortSignal): Promise<Tensor[]> {
    return this.#runs.run(() => this.#start(inputs, outputs), signal);
  }

  async close(): Promise<void> {
    await this.#runs.close();
    for (const request of this.#free) request.release();
    this.#network.release();
  }

  #start(inputs: readonly Tensor[], outputs: readonly number[]) {
    const isFresh = this.#state === "reset" || (this.#state === "none" && inputs.some(isEmpty));
    const request = (isFresh ? undefined : this.#free.pop()) ?? this.#network.createRequest();
    this.#running.set(request, inputs);
    const result = request.infer(inputs, outputs).finally(() => {
      this.#running.delete(request);
      if (isFresh) request.release();
      else this.#free.push(request);
    });
    return { result, cancel: () => request.cancel() };
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
