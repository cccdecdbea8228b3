import type { Logger } from "../observability/logger.ts";
import type { ModelNotes, Signature, TensorSpec, UnservedSignature } from "../tensor/signature/signature.ts";
import type { Tensors } from "../tensor/tensor.ts";
import type { OptionTable } from "./option-table.ts";

export { DEFAULT_SIGNATURE, type Dimension, type Signature, type TensorSpec } from "../tensor/signature/signature.ts";

/**
 * Knows how to load one model format and run it. A driver is written as if it were alone in its thread:
 * it may block, and it never thinks about wires, hooks, batching or checks; `models/` gives it those.
 */
export interface Driver<Options = unknown, Loaded extends Model | PartsModel = Model | PartsModel> {
  /** The name in `--driver NAME`, equal to the file's name. */
  readonly name: string;
  /** The `-o` keys it takes; parsed, validated and documented from this one table. */
  readonly options: OptionTable<Options>;
  /** `inline` = never blocks, runs in the main thread unless its model may take texts. Default `thread`. */
  readonly placement?: "thread" | "inline";
  /**
   * Lets small models share threads, each of which runs one at a time. Only for a driver whose models are plain
   * objects, and leave nothing behind in their runs: those may be begun again in another thread. Default false.
   */
  readonly sharesThread?: boolean;
  /**
   * True if its models run in their own processes anyway, so that `--isolate` has nothing to do. Default false.
   */
  readonly isIsolated?: boolean;
  /**
   * Environment variables that its runtime reads when its library is loaded; set in the process before that, unless
   * they have a value.
   */
  readonly environment?: Readonly<Record<string, string>>;
  /** True if `--model-path` is optional. Default false. */
  readonly pathless?: boolean;
  /**
   * Converts numbers of other dtypes to those of its models' inputs if `-o convert_inputs=` does not say. Default
   * false.
   */
  readonly convertsInputs?: boolean;
  /** Checks if it would load this path, so that `--driver` can be omitted. Checks only names, never reads the model. */
  detect?(path: string): boolean;
  /**
   * Loads a model; resolves only once it can predict. Throws `failed_precondition` for a model that it cannot serve.
   */
  load(path: string, options: Options, host: DriverHost): Promise<Loaded>;
  /**
   * Loads one more copy of a small model whose runs are steady ({@link Model.isSteady}), for the main thread, which
   * makes short runs itself. Throws if the options do not permit it. Absent = its runs cannot return at once.
   */
  loadQuick?(path: string, options: Options, host: DriverHost): Promise<QuickModel>;
}

/** A copy of a model whose runs wait for nothing: no other thread, no turn of the event loop. */
export interface QuickModel {
  /** Runs the default signature on inputs whose shapes have been run before, and returns all its outputs. */
  run(inputs: Tensors): Tensors;
  close(): Promise<void>;
}

/** The copies of a model (`--instances`) in threads of one process. */
export interface ModelCopies {
  readonly count: number;
  /** Memory that the copies have in common, in which they may leave the address of what they share; zeros at first. */
  readonly memory: SharedArrayBuffer;
}

/** Parts of the server that a driver may use while it loads. */
export interface DriverHost {
  readonly log: Logger;
  /** Threads that the runtime may use for one run, unless an option overrides it. */
  readonly threads: number;
  /**
   * Memory in which all model threads count their long calls in libuv's pool. Absent if there is one such thread.
   */
  readonly poolCalls?: SharedArrayBuffer;
  /** This copy of the model and the others; absent if it is the only one, or each has its own process. */
  readonly copies?: ModelCopies;
  /**
   * Folder of the pipeline's hook file, which may have code for the model; absent without one. Given to `inline`
   * drivers only.
   */
  readonly hookFolder?: string;
  /**
   * Aborts when the load is given up, so that a driver ends what it has started for it; never once the model is loaded.
   * Given to `inline` drivers only.
   */
  readonly signal?: AbortSignal;
  /**
   * Reports that nothing can run in the model: its thread then counts as unresponsive, which `--model-stall` limits,
   * until the returned function is called, once. Absent for `inline` drivers.
   */
  reportStuck?(): () => void;
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
  /**
   * The same for a model that answers in parts, 0 or more: the server asks for the next one once its reader has room
   * for it, and {@link predict} only answers requests that take one answer. The signal aborts, and `return()` of the
   * iterator is called, if the reader leaves; the run counts for {@link concurrency} until both have ended. Absent =
   * it answers once.
   */
  predictStream?(inputs: Tensors, call: PredictCall): AsyncIterable<Tensors>;
  /**
   * Runs any part of the graph; its inputs are fed by the names of the graph's tensors. It bounds its own runs. Throws
   * `invalid_argument` for names that the graph does not have, `permission_denied` for parts that no signature
   * computes. Absent if the runtime has no names for tensors.
   */
  runGraph?(feeds: Tensors, run: GraphRun): Promise<Tensors>;
  /**
   * The length of the longest row, for a model that pads rows to one length, in bytes of text or the like: requests of
   * like lengths go together in its batches. Absent = all do.
   */
  lengthOf?(inputs: Tensors, signature: string): number;
  /** Number of predicts that may overlap without blocking the thread; the rest queue. Default 1. */
  readonly concurrency?: number;
  /**
   * True if a run copies its inputs to if its runtime or process takes them; such
   * a copy counts as memory of requests. Default false.
   */
  readonly copiesInputs?: boolean;
  /** The third argument of hooks: plain data, or objects of async functions (`session.run`). */
  readonly hookArgs?: Readonly<Record<string, unknown>>;
  /**
   * True if its runtime decides which shapes it takes, as TensorFlow's does: those of the signature are then
   * information for clients, and a run with others computes what it can or throws `invalid_argument`. Default false:
   * the shapes of the signature are enforced.
   */
  readonly checksShapes?: boolean;
  /** The runtime with its version and place, for the start table: `ONNX Runtime 1.30.0 of the runtimes folder`. */
  readonly runtime?: string;
  /**
   * True if a run leaves nothing behind, so that the server may try the model on its own inputs for the example
   * that it shows. Default false.
   */
  readonly isPure?: boolean;
  /**
   * True if the time of a run depends on the shapes of its inputs alone, and not on their values. Default false.
   */
  readonly isSteady?: boolean;
  /**
   * True if its thread holds memory that its end would not give back, as koffi's for calls into C libraries: later
   * models of the driver get the thread. Nothing of the model may stay in it after {@link close}. Default false.
   */
  readonly keepsThread?: boolean;
  /**
   * Inputs on which the model probably runs, the likeliest first, if the default signature takes any names and
   * dtypes.
   */
  readonly likelyInputs?: readonly (readonly TensorSpec[])[];
  /** Signatures of its file that cannot be run, by name. */
  readonly unserved?: Readonly<Record<string, UnservedSignature>>;
  /** Notes of its exporter, for clients of OpenVINO Model Server. */
  readonly modelInfo?: ModelNotes;
  /** Memory that it takes, in bytes, for `--model-memory`; absent = not known: the size of its files counts. */
  readonly memoryBytes?: number;
  /** True if it returns its inputs unchanged. Plain JSON values are then not converted. Default false. */
  readonly echoes?: boolean;
  /**
   * Reports if it can answer now, for one that can lose the process that it runs on; absent = always. Called for
   * `inline` drivers only.
   */
  isReady?(): boolean;
  /** Numbers of the processes that it runs in now, whose memory is reported. Called for `inline` drivers only. */
  processIds?(): readonly number[];
  /** Number of times that it was made ready again, since a run that failed may have spoiled it; absent = never. */
  renewals?(): number;
  /** Frees everything. Called once, after the last predict has settled. */
  close(): Promise<void>;
}

/**
 * A model that always answers in parts: a request that takes one answer is answered if there is exactly one part.
 */
export interface PartsModel extends Omit<Model, "predict" | "predictStream">, Required<Pick<Model, "predictStream">> {
  readonly predict?: Model["predict"];
}

/** Signature, outputs and limits of one predict. */
export interface PredictCall {
  /** A key of {@link Model.signatures}. */
  readonly signature: string;
  /** Output names wanted; absent = all. Only names that the signature has. */
  readonly outputs?: readonly string[];
  /**
   * Aborts when the request is cancelled or its deadline passes. A getter, which makes it when it is first asked for: a
   * spread copy of the call lacks it.
   */
  readonly signal: AbortSignal;
  /** True for a try of the server's own: it is not to begin if the driver can know that it would fail. */
  readonly isTrial?: boolean;
  /** Milliseconds left, for runtimes that take a timeout. */
  readonly deadlineMs?: number;
}

/** One run of a part of a model's graph. */
export interface GraphRun extends Pick<PredictCall, "signal" | "deadlineMs"> {
  /** Names of tensors, without repetition; the results have these names. */
  readonly fetches: readonly string[];
  /** Names of operations that run although nothing of them is returned. */
  readonly targets: readonly string[];
}

/** Types a driver's options, and its model if that is a {@link PartsModel}; adds nothing at run time. */
export function defineDriver<Options, Loaded extends Model | PartsModel = Model>(
  driver: Driver<Options, Loaded>,
): Driver<Options, Loaded> {
  return driver;
}
