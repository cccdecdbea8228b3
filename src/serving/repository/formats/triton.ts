import { basename, join } from "node:path";
import type { RawOptions } from "../../../drivers/option-table.ts";
import { DRIVER_NAMES } from "../../../drivers/registry.ts";
import type { ConfigNode } from "../../../tensor/codecs/config/config-node.ts";
import type { ConfiguredFacts } from "../../servable-description.ts";
import type { ConfigSource } from "../config/config-source.ts";
import type { FieldValues } from "../config/field-table.ts";
import { jsonOf } from "../config/findings.ts";
import { type ModelConfig, modelConfig } from "../config/model-config.ts";
import { readFields } from "../config/read-fields.ts";
import { toVersionPolicy } from "../config/versions.ts";
import { readEnsemble, refusedInEnsemble, TRITON_FIELDS } from "./triton-fields.ts";
import { readTritonTensors, readTritonWarmUp, tensorOptions } from "./triton-tensors.ts";

type Fields = FieldValues<typeof TRITON_FIELDS>;

/** The folder of a model, whose name is the model's unless a name is given. */
type TritonSource = ConfigSource & {
  readonly name?: string;
  /** True if the folder is in no repository: the file names the model, if it has a name. */
  readonly isAlone?: boolean;
};

/** Reads Triton's config.pbtxt, which is in the model's folder; undefined if the findings have errors. */
export function readTriton(node: ConfigNode, source: TritonSource): ModelConfig | undefined {
  const fields = readFields(node, TRITON_FIELDS, { ...source, whose: "The config.pbtxt" });
  if (fields === undefined) return undefined;
  const ownName = source.isAlone ? fields.name : undefined;
  const { name = ownName ?? basename(source.folder) } = source;
  if (isEnsemble(fields)) return toEnsemble(name, fields, { node, source });
  const driver = driverOf(fields);
  const refusal = refusalOf(fields, driver, name);
  return modelConfig({
    name,
    path: source.folder,
    versions: toVersionPolicy(fields.version_policy),
    options: {
      ...batchingOptions(fields),
      ...parameterOptions(fields, driver, { node, source }),
      ...tensorOptions(fields, driver),
      ...rowLimitOf(fields),
    },
    ...(driver !== undefined && { driver }),
    ...(fields.default_model_filename !== undefined && { file: fields.default_model_filename }),
    ...instancesOf(fields),
    ...readTritonWarmUp(fields, { node, source }),
    ...readTritonTensors(fields, { node, source }),
    configured: configuredBy(fields),
    ...(refusal !== undefined && { refusal }),
  });
}

function isEnsemble({ platform, backend, ensemble_scheduling }: Fields): boolean {
  return ensemble_scheduling !== undefined || platform === "ensemble" || backend === "ensemble";
}

/** Its stages are the models of its steps, which are served under their own names. */
function toEnsemble(name: string, fields: Fields, { node, source }: Read): ModelConfig {
  const { expected, labelFiles } = readTritonTensors(fields, { node, source });
  const ensemble = readEnsemble(name, fields.ensemble_scheduling ?? {}, expected);
  const problem = typeof ensemble === "string" ? ensemble : undefined;
  const refusal = refusedInEnsemble(name, fields, node) ?? problem ?? namedOtherwise(fields, name);
  return modelConfig({
    ...{ name, path: source.folder, versions: toVersionPolicy(fields.version_policy) },
    ...(labelFiles !== undefined && { labelFiles }),
    configured: configuredBy(fields),
    ...(typeof ensemble !== "string" && {
      ensemble,
      stages: ensemble.steps.map(({ model, version }) => ({ model, ...(version && { version }) })),
    }),
    ...(refusal !== undefined && { refusal }),
  });
}

/** Triton's backends, and our drivers for them. Platforms are old names for a backend with a kind of file. */
const DRIVERS: Readonly<Record<string, string>> = {
  onnxruntime: "onnx",
  onnxruntime_onnx: "onnx",
  tensorflow: "tensorflow",
  tensorflow_savedmodel: "tensorflow",
  tensorflow_graphdef: "tensorflow",
  openvino: "openvino",
  pytorch: "pytorch",
  pytorch_libtorch: "pytorch",
};

/** A driver's own name is accepted too, but Triton's python backend differs from our driver. */
function driverOf({ platform, backend }: Fields): string | undefined {
  const name = backend ?? platform ?? "";
  if (Object.hasOwn(DRIVERS, name)) return DRIVERS[name];
  return name !== "python" && DRIVER_NAMES.includes(name) ? name : undefined;
}

function refusalOf(fields: Fields, driver: string | undefined, folder: string): string | undefined {
  const { platform, backend = platform, sequence_batching } = fields;
  if (backend !== undefined && driver === undefined) {
    if (backend === "python")
      return `${folder} has the backend python, which is not served; write its model.py as hooks, or as a class for the python driver`;
    const backends = Object.keys(DRIVERS).filter((one) => !one.includes("_"));
    return `${folder} has the backend ${backend}, for which there is no driver; expected one of ${backends.join(", ")}`;
  }
  const misnamed = namedOtherwise(fields, folder);
  if (misnamed !== undefined) return misnamed;
  if (sequence_batching !== undefined)
    return `${folder} batches sequences of requests, which is not done here; remove sequence_batching from its config.pbtxt to run each request by itself`;
  return undefined;
}

function namedOtherwise({ name }: Fields, folder: string): string | undefined {
  if (name === undefined || name === folder) return undefined;
  return `its config.pbtxt is of a model called ${name}, its folder is called ${folder}; expected the same name`;
}

function configuredBy(fields: Fields): ConfiguredFacts {
  const { max_batch_size: rows = 0, parameters = new Map(), model_transaction_policy: policy } = fields;
  const texts = [...parameters].map(([key, { string_value: value }]) => [key, textOf(value)] as const);
  return {
    ...(rows > 0 && { maxRequestRows: rows }),
    ...(texts.length > 0 && { parameters: new Map(texts) }),
    ...(policy?.decoupled !== undefined && { decoupled: policy.decoupled }),
  };
}

/** Triton refuses a request of more rows, if it batches requests and if it does not. */
function rowLimitOf({ max_batch_size: rows = 0 }: Fields): RawOptions {
  return rows === 0 ? {} : { max_request_rows: String(rows) };
}

/** Triton batches requests only if dynamic_batching is present. */
function batchingOptions({ max_batch_size: rows = 0, dynamic_batching: dynamic }: Fields): RawOptions {
  if (rows === 0 || dynamic === undefined) return {};
  return { max_batch_size: String(rows), batch_timeout_us: String(dynamic.max_queue_delay_microseconds ?? 0) };
}

/** Parameters of Triton's backends, by driver, and our names for them. */
const PARAMETERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  onnx: { intra_op_thread_count: "intra_op_threads", inter_op_thread_count: "inter_op_threads" },
  tensorflow: {
    TF_NUM_INTRA_THREADS: "intra_op_threads",
    TF_NUM_INTER_THREADS: "inter_op_threads",
    TF_GRAPH_TAG: "tags",
    TF_SIGNATURE_DEF: "model_signature",
  },
  openvino: {
    CPU_EXTENSION_PATH: "extension",
    INFERENCE_NUM_THREADS: "inference_threads",
    CPU_THREADS_NUM: "inference_threads",
    NUM_STREAMS: "num_streams",
    CPU_THROUGHPUT_STREAMS: "num_streams",
    PERFORMANCE_HINT: "performance_hint",
    TARGET_DEVICE: "device",
  },
};

/** Drivers with libraries of custom operators. */
const TAKES_LIBRARIES = ["onnx", "tensorflow"];

interface Read {
  readonly node: ConfigNode;
  readonly source: ConfigSource;
}

function parameterOptions({ parameters, model_operations }: Fields, driver = "", { node, source }: Read): RawOptions {
  const known = PARAMETERS[driver] ?? {};
  const options: Record<string, string> = {};
  for (const [key, { string_value: value }] of parameters ?? []) {
    if (Object.hasOwn(known, key)) options[known[key]!] = textOf(value);
    else source.findings.warn(value?.place ?? node.place, `The parameter "${key}" changes nothing here.`);
  }
  const libraries = (model_operations?.op_library_filename ?? []).map((file) => join(source.folder, file));
  if (libraries.length > 0 && TAKES_LIBRARIES.includes(driver)) options.custom_op_paths = libraries.join(",");
  else if (libraries.length > 0) source.findings.warn(node.place, '"model_operations" changes nothing here.');
  return options;
}

function textOf(value: ConfigNode | undefined): string {
  if (value === undefined) return "";
  return value.kind === "scalar" ? value.text : jsonOf(value);
}

/** Groups without a number have one copy each. */
function instancesOf({ instance_group: groups = [] }: Fields): { readonly instances?: number } {
  const instances = groups.reduce((sum, { count }) => sum + (count || 1), 0);
  return instances === 0 ? {} : { instances };
}
