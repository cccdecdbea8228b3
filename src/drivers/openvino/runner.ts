import type { Tensor } from "../../tensor/tensor.ts";

/** The parts of a call that a runner needs. */
export interface RunCall {
  readonly signal?: AbortSignal | undefined;
  /** True where it is not to begin if it can be known that it would fail. */
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
