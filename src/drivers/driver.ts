import type { Logger } from "../observability/logger.ts";
import type { Signature, TensorSpec } from "../signature/signature.ts";
import type { Tensors } from "../tensor/tensor.ts";
import type { OptionTable } from "./option-table.ts";

export { DEFAULT_SIGNATURE, type Dimension, type Signature, type TensorSpec } from "../signature/signature.ts";

/**
 * Knows how to load one model format and run it. A driver is written as if it were alone in its thread:
 * it may block, and it never thinks about wires, hooks, batching or checks; `model-host/` gives it those.
 */
export interface Driver<Options = unknown> {
  /** The name in `--driver NAME`, equal to the file's name. */
  readonly name: string;
  /** The `-o` keys it takes; parsed, validated and documented from this one table. */
  readonly options: OptionTable<Options>;
  /** `inline` = never blocks, runs in the main thread. Default `thread`. */
  readonly placement?: "thread" | "inline";
  /** Whether `--model-path` may be left out. Default false. */
  readonly pathless?: boolean;
  /** Whether numbers of other dtypes become those of its models' inputs where `-o convert_inputs=` does not say. Default false. */
  readonly convertsInputs?: boolean;
  /** Whether it would load this path; lets `--driver` be left out. Looks at names only, never reads the model. */
  detect?(path: string): boolean;
  /** Loads a model; resolves only once it can predict. Throws `failed_precondition` for a model that it cannot serve. */
  load(path: string, options: Options, host: DriverHost): Promise<Model>;
}

/** What the server lends a driver while it loads. */
export interface DriverHost {
  readonly log: Logger;
  /** Threads that the runtime may use for one run, where an option does not say otherwise. */
  readonly threads: number;
  /** Where the hook file of the model's pipeline lies, which may have code for the model beside it; absent without one. Told to `inline` drivers alone. */
  readonly hookFolder?: string;
}

/** A loaded model: obtained from {@link Driver.load}, ready, until {@link Model.close}. */
export interface Model {
  /** By name; most models have only {@link DEFAULT_SIGNATURE}. */
  readonly signatures: Readonly<Record<string, Signature>>;
  /**
   * Runs inference on inputs that were checked against the signature. Neither keeps nor changes their arrays;
   * the arrays of what it returns are the server's, which may hand them to another thread.
   */
  predict(inputs: Tensors, call: PredictCall): Promise<Tensors>;
  /** How many predicts may overlap without blocking the thread; the rest queue. Default 1. */
  readonly concurrency?: number;
  /** The third argument of hooks: plain data, or objects of async functions (`session.run`). */
  readonly hookArgs?: Readonly<Record<string, unknown>>;
  /**
   * Whether its runtime decides which shapes it takes, as TensorFlow's does: those of the signature are then information for clients,
   * and a run with others computes what it can or throws `invalid_argument`. Default false: the shapes of the signature are enforced.
   */
  readonly checksShapes?: boolean;
  /** What runs it, for the start table: `ONNX Runtime 1.30.0 of the runtimes folder`. */
  readonly runtime?: string;
  /** Whether a run leaves nothing behind, so that the server may try the model on inputs of its own for the example that it shows. Default false. */
  readonly isPure?: boolean;
  /** Where the default signature takes any names and dtypes: inputs on which the model probably runs, the likeliest first. */
  readonly likelyInputs?: readonly (readonly TensorSpec[])[];
  /** Whether it returns its inputs whatever they are. Plain JSON values then pass it by unchanged. Default false. */
  readonly echoes?: boolean;
  /** Whether it can answer now, for one that can lose what it runs on; absent = always. Asked of `inline` drivers alone. */
  isReady?(): boolean;
  /** Frees everything. Called once, after the last predict has settled. */
  close(): Promise<void>;
}

/** How one predict is to be run. */
export interface PredictCall {
  /** A key of {@link Model.signatures}. */
  readonly signature: string;
  /** Output names wanted; absent = all. Only names that the signature has. */
  readonly outputs?: readonly string[];
  /** Aborts when the request is cancelled or its deadline passes. A getter, which makes it when it is first asked for: a spread copy of the call lacks it. */
  readonly signal: AbortSignal;
  /** Milliseconds left, for runtimes that take a timeout. */
  readonly deadlineMs?: number;
}

/** Types a driver's options; adds nothing at run time. */
export function defineDriver<Options>(driver: Driver<Options>): Driver<Options> {
  return driver;
}
