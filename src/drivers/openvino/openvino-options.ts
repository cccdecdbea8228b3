import type { OptionTable } from "../option-table.ts";

/** Bindings to OpenVINO: `native` its C library, `node` the npm package openvino-node. */
const ENGINE_NAMES = ["native", "node"] as const;

/** One of {@link ENGINE_NAMES}. */
export type EngineName = (typeof ENGINE_NAMES)[number];

/** The driver's options, parsed. */
export interface OpenvinoOptions {
  readonly engine: "auto" | EngineName;
  readonly openvino_lib?: string;
  readonly model_weights?: string;
  readonly device: string;
  readonly inputs?: string;
  readonly outputs?: string;
  readonly shape?: string;
  readonly layout?: string;
  readonly batch_size?: string;
  readonly performance_hint?: string;
  readonly num_streams?: string;
  readonly inference_threads: number;
  readonly inference_precision: "f32" | "f16" | "bf16" | "device";
  readonly cpu_pinning: boolean;
  readonly cache_dir?: string;
  readonly plugin_config?: string;
  readonly extension?: string;
  readonly state: "keep" | "reset";
}

/** The `-o` keys of the openvino driver. */
export const OPENVINO_OPTIONS: OptionTable<OpenvinoOptions> = {
  engine: {
    type: "choice",
    choices: ["auto", ...ENGINE_NAMES],
    default: "auto",
    help: "What calls OpenVINO: native is its C library, node (experimental) the npm package openvino-node; auto takes native where it is found.",
  },
  openvino_lib: {
    type: "string",
    help: "The file of libopenvino_c, or its folder, or with engine=node that of openvino-node; left out, it is looked for.",
  },
  model_weights: { type: "string", help: "The .bin file of an .xml model; default: the one next to it." },
  device: {
    type: "string",
    default: "CPU",
    help: "CPU, GPU, GPU.1, AUTO, or several: HETERO:GPU,CPU (or just GPU,CPU), AUTO:GPU,CPU, MULTI:GPU,CPU, BATCH:GPU(8).",
  },
  inputs: {
    type: "string",
    help: "The names by which inputs are served, separated by commas, of those that their tensors have; one for each input.",
  },
  outputs: { type: "string", help: "The outputs to serve, separated by commas; left out, all." },
  shape: {
    type: "string",
    help: 'Shapes of inputs: (1,3,224,224) with -1 for any size and 1:8 for a range; {"image": "(1,3,-1,-1)"} by name; auto compiles the model for each shape that comes.',
  },
  layout: {
    type: "string",
    replacesHost: true,
    help: 'The order of an input\'s axes, as clients send it and as the model takes it: NHWC:NCHW, or {"image": "NHWC:NCHW"} by name; one alone says where the channels of images are, and changes nothing.',
  },
  batch_size: {
    type: "string",
    help: "The first dimension of all inputs: a number, a range such as 1:8, or auto for any.",
  },
  performance_hint: {
    type: "choice",
    choices: ["LATENCY", "THROUGHPUT", "CUMULATIVE_THROUGHPUT"],
    help: "What the device is set up for; THROUGHPUT runs several requests side by side.",
  },
  num_streams: {
    type: "string",
    help: "Runs side by side on the device: a number, or AUTO; left out, performance_hint decides.",
  },
  inference_threads: {
    type: "integer",
    default: 0,
    min: 0,
    help: "Threads on the CPU for all streams together; 0 = what --threads says.",
  },
  inference_precision: {
    type: "choice",
    choices: ["f32", "f16", "bf16", "device"],
    default: "f32",
    help: "What to compute in; device takes what is fastest there, which on new processors is bf16 and less exact.",
  },
  cpu_pinning: {
    type: "boolean",
    default: false,
    help: "Whether threads stay on their cores; several models then meet on the same ones.",
  },
  cache_dir: { type: "string", help: "A folder that keeps compiled models, so that they load faster the next time." },
  plugin_config: {
    type: "string",
    help: 'Properties of the device\'s plugin as JSON: {"NUM_STREAMS": 2}, or by device: {"CPU": {"NUM_STREAMS": 2}}.',
  },
  extension: { type: "string", help: "Libraries of custom operations, separated by commas." },
  state: {
    type: "choice",
    choices: ["keep", "reset"],
    default: "keep",
    help: "Whether a stateful model goes on where the last request left it, or starts afresh with each.",
  },
};
