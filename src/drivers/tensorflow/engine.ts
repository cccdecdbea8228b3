import type { DriverHost, Model } from "../driver.ts";
import type { OptionTable } from "../option-table.ts";
import type { ModelSource } from "./model-source.ts";

/** One way to run a TensorFlow model. */
export interface TensorflowEngine {
  readonly name: EngineName;
  /**
   * Loads a model of a format that {@link chooseEngine} gives this engine; throws
   * `failed_precondition` for one that it cannot serve.
   */
  load(source: ModelSource, options: TensorflowOptions, host: DriverHost): Promise<Model>;
}

/**
 * Runtime of a model: `native` libtensorflow, `portable` our importer onto tfjs, `tfjs` for model.json, `tflite`
 * LiteRT, `keras` for .h5 and .keras.
 */
export type EngineName = "native" | "portable" | "tfjs" | "tflite" | "keras";

/** The driver's options, parsed. */
export interface TensorflowOptions {
  readonly engine: "auto" | "native" | "portable" | "tfjs";
  readonly model_signature: string;
  readonly inputs?: string;
  readonly outputs?: string;
  readonly tags: string;
  readonly tensorflow_lib?: string;
  readonly custom_op_paths?: string;
  readonly session_config?: string;
  readonly intra_op_threads: number;
  readonly inter_op_threads: number;
  readonly gpu_memory_fraction: number;
  readonly allow_soft_placement: boolean;
  readonly xla: boolean;
}

/** The `-o` keys of the tensorflow driver. */
export const TENSORFLOW_OPTIONS: OptionTable<TensorflowOptions> = {
  engine: {
    type: "choice",
    choices: ["auto", "native", "portable", "tfjs"],
    default: "auto",
    help: "What runs the model: native is libtensorflow, portable is WebAssembly, tfjs is for model.json; auto takes native where it is found.",
  },
  model_signature: {
    type: "string",
    default: "serving_default",
    help: "The signature that a request without a signature name gets.",
  },
  inputs: {
    type: "string",
    help: "Inputs of a frozen graph, separated by commas, as name or name:0; left out, its placeholders.",
  },
  outputs: {
    type: "string",
    help: "Outputs of a frozen graph, separated by commas, as name or name:0; left out, what nothing else takes.",
  },
  tags: { type: "string", default: "serve", help: "Tags of the graph to take from a SavedModel, separated by commas." },
  tensorflow_lib: {
    type: "string",
    help: "The file of libtensorflow_cc or libtensorflow, or its folder; left out, it is looked for.",
  },
  custom_op_paths: {
    type: "string",
    help: "Libraries of custom ops, or folders of them, separated by commas; loaded before the model.",
  },
  session_config: {
    type: "string",
    help: "TensorFlow's ConfigProto: as JSON ({\"log_device_placement\": true}) or in protobuf's text format.",
  },
  intra_op_threads: {
    type: "integer",
    default: 0,
    min: 0,
    help: "Threads within operators, shared by all runs; 0 = half of what --threads says. The first model of the process decides.",
  },
  inter_op_threads: {
    type: "integer",
    default: 0,
    min: 0,
    help: "Operators side by side, of all runs together; 0 = one a core. The first model of the process decides.",
  },
  gpu_memory_fraction: {
    type: "number",
    default: 0,
    min: 0,
    help: "Share of a GPU's memory to take, up to 1; 0 = TensorFlow's default. The first model of the process decides.",
  },
  allow_soft_placement: {
    type: "boolean",
    default: true,
    help: "Whether operators that name a device which is not there run on the CPU.",
  },
  xla: { type: "boolean", default: false, help: "Whether XLA compiles what it can of the graph." },
};
