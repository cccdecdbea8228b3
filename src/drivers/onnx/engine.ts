import type { Tensors } from "../../tensor/tensor.ts";
import type { DriverHost, PredictCall } from "../driver.ts";
import type { OnnxType, OnnxValues } from "./onnx-value.ts";
import type { EngineName, OnnxOptions } from "./session-options.ts";

/** An input or output of a loaded model. */
export interface OnnxPort {
  readonly name: string;
  readonly type: OnnxType;
}

/** A model that ONNX Runtime has loaded. Errors are those of ONNX Runtime. */
export interface EngineSession {
  /** The inputs that a run takes. Of those with values in the model there are the ones whose defaults are known. */
  readonly inputs: readonly OnnxPort[];
  readonly outputs: readonly OnnxPort[];
  /** The exporter's notes about the model, such as its labels; absent if the engine does not tell. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Runs the model on a value of its type for each input; throws `invalid_argument` for bytes that are not text. */
  run(inputs: OnnxValues, call: Partial<PredictCall>): Promise<OnnxValues>;
  /** Runs the model in this thread and waits for nothing; gives all outputs. Absent if the engine cannot. */
  runNow?(inputs: OnnxValues): OnnxValues;
  /** Waits for the last run and frees the model. */
  close(): Promise<void>;
}

/** A way to call ONNX Runtime. */
export interface OnnxEngine {
  readonly name: EngineName;
  /** ONNX Runtime's version. */
  readonly version: string;
  /** Place where it was found, as people would name it. */
  readonly source: string;
  /** The GPU that runs the models; absent for the CPU. */
  readonly device?: string;
  /** Names of the execution providers that it has, in lower case: `cpu`, `cuda`. */
  readonly providers: readonly string[];
  /** Loads a model by its path, so that data files next to it are found. Errors are those of ONNX Runtime. */
  load(path: string, loading: OnnxLoading): Promise<EngineSession>;
}

/** Facts that an engine loads a model by, in addition to its path. */
export interface OnnxLoading {
  readonly options: OnnxOptions;
  readonly host: DriverHost;
  /** True if the duration of a run is known to depend on the shapes of its inputs alone. */
  readonly hasBoundedRuns: boolean;
  /** Takes the place of the file's bytes; data files are still found beside the file. */
  readonly bytes?: Uint8Array | undefined;
  /** True if a model that ONNX Runtime does not load with its guards is not to be loaded at all. Default false. */
  readonly needsGuards?: boolean;
  /** Values of inputs that a run may leave out. */
  readonly defaults: Tensors;
}
