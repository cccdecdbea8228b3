import { CancellableRuns, type RunLimits } from "../../platform/native/cancellable-runs.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { CompiledNetwork, InferRequest } from "./engine.ts";
import { OpenvinoFailure } from "./openvino-failure.ts";

/** The parts of a call that a runner needs. */
export interface RunCall {
  readonly signal?: AbortSignal | undefined;
  /** True if it is not to begin if it can be known that it would fail. */
  readonly isTrial?: boolean | undefined;
}

/** Something that runs a network. */
export interface Runner {
  /** Number of runs that may overlap. */
  readonly concurrency: number;
  /** Number of times that the network was compiled again after runs that failed. */
  readonly renewals: number;
  /** A setting that the device has chosen. */
  property(key: string): string;
  /**
   * Runs on all inputs, in the network's order, and gives the outputs at the places asked for. Rejects with the
   * signal's reason as soon as that aborts.
   */
  run(inputs: readonly Tensor[], outputs: readonly number[], call?: RunCall): Promise<Tensor[]>;
  /** Waits for the runs with waiting callers, cancels the others, and frees everything. */
  close(): Promise<void>;
}

/** Treatment of a compiled network's requests. */
interface PoolChoice extends Omit<RunLimits, "limit"> {
  /** Treatment of a run's state: the next run finds it, or begins without. */
  readonly state: "none" | "keep" | "reset";
  /**
   * Milliseconds for which a run goes on after its caller has left: as long as compiling takes, since a run that is
   * cancelled spoils the compiled network.
   */
  readonly graceMs: number;
}

/** The end of a run whose compiled network another run has spoiled: it is to run again on a new one. */
export class SpoiledRun extends Error {
  override readonly name = "SpoiledRun";
}

/** A compiled network with its infer requests. */
export class RequestPool implements Omit<Runner, "renewals"> {
  readonly concurrency: number;
  readonly #network: CompiledNetwork;
  readonly #state: PoolChoice["state"];
  readonly #free: InferRequest[] = [];
  /** The runs and their memory, which is read until they end, even after their callers have left. */
  readonly #running = new Map<InferRequest, readonly Tensor[]>();
  readonly #runs: CancellableRuns;
  readonly #graceMs: number;
  #isSpoiled = false;

  /** Takes over the network, but not before it is made. Allocates the requests, as many as can run. */
  constructor(network: CompiledNetwork, { state, graceMs, ...listeners }: PoolChoice) {
    this.concurrency = state === "keep" ? 1 : optimalSize(network);
    this.#network = network;
    this.#state = state;
    this.#graceMs = graceMs;
    this.#runs = new CancellableRuns({ limit: this.concurrency, ...listeners });
    while (this.#free.length < this.concurrency) this.#free.push(network.createRequest());
  }

  /**
   * True once a run has failed in OpenVINO, or was cancelled, after which others may be answered wrongly: the CPU
   * plugin keeps sizes of such a run.
   */
  get isSpoiled(): boolean {
    return this.#isSpoiled;
  }

  /** True while a run is under way. */
  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  property(key: string): string {
    return this.#network.property(key);
  }

  /** As {@link Runner.run}; rejects with {@link SpoiledRun} if the network is spoiled before the run has ended. */
  run(inputs: readonly Tensor[], outputs: readonly number[], { signal }: RunCall = {}): Promise<Tensor[]> {
    return this.#runs.run(() => this.#start(inputs, outputs), signal);
  }

  /** Ends all runs, and frees everything. */
  discard(): Promise<void> {
    this.#runs.cancelAll();
    return this.close();
  }

  async close(): Promise<void> {
    await this.#runs.close();
    for (const request of this.#free) request.release();
    this.#network.release();
  }

  #start(inputs: readonly Tensor[], outputs: readonly number[]) {
    if (this.#isSpoiled) throw new SpoiledRun();
    const isFresh = this.#state === "reset" || (this.#state === "none" && inputs.some(isEmpty));
    const request = (isFresh ? undefined : this.#free.pop()) ?? this.#network.createRequest();
    this.#running.set(request, inputs);
    let isOver = false;
    // A request that is over may be freed, or another client's.
    const cancel = () => isOver || request.cancel();
    let grace: NodeJS.Timeout | undefined;
    const abandon = () => {
      if (!isOver) grace = setTimeout(cancel, this.#graceMs);
    };
    const result = this.#trusted(request.infer(inputs, outputs)).finally(() => {
      isOver = true;
      clearTimeout(grace);
      this.#running.delete(request);
      if (isFresh) request.release();
      else this.#free.push(request);
    });
    return { result, cancel, abandon };
  }

  async #trusted(run: Promise<Tensor[]>): Promise<Tensor[]> {
    try {
      const outputs = await run;
      if (!this.#isSpoiled) return outputs;
    } catch (reason) {
      if (!this.#isSpoiled) {
        this.#isSpoiled = reason instanceof OpenvinoFailure && reason.kind !== "refused";
        throw reason;
      }
    }
    throw new SpoiledRun();
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
