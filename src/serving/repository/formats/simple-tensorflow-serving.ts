import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { RawOptions } from "../../../drivers/option-table.ts";
import { toPlace } from "../../../storage/remote-address.ts";
import type { ConfigNode } from "../../../tensor/codecs/config/config-node.ts";
import { type ConfigSource, remotePathRefusal } from "../config/config-source.ts";
import type { FieldKind, FieldValues } from "../config/field-table.ts";
import { jsonOf } from "../config/findings.ts";
import { type ModelConfig, modelConfig } from "../config/model-config.ts";
import { readFields } from "../config/read-fields.ts";

const PATHS = {
  type: "custom",
  expected: "folders, separated by commas",
  read: (node: ConfigNode) =>
    node.kind === "scalar" ? node.text : node.kind === "list" ? node.items.map(textOf).join(",") : undefined,
  schema: {},
} as const satisfies FieldKind;

function textOf(node: ConfigNode): string {
  return node.kind === "scalar" ? node.text : "";
}

const MODEL_FIELDS = {
  name: { type: "text", required: true },
  base_path: { type: "text", required: true },
  platform: { type: "text" },
  session_config: { type: "any" },
  custom_op_paths: PATHS,
} as const;

/** The keys of Simple TensorFlow Serving's `model_config_file`. */
const FILE_FIELDS = {
  model_config_list: { type: "group", fields: MODEL_FIELDS, repeated: true, required: true },
} as const;

/** Its platforms, and our drivers for them. */
const DRIVERS: Readonly<Record<string, string>> = {
  tensorflow: "tensorflow",
  onnx: "onnx",
  pytorch_onnx: "onnx",
  scikitlearn: "sklearn",
  xgboost: "xgboost",
  pmml: "pmml",
  mxnet: "mxnet",
  h2o: "h2o",
};

/** Reads Simple TensorFlow Serving's `model_config_file`. */
export function readSimpleTensorflowServing(node: ConfigNode, source: ConfigSource): ModelConfig[] {
  const options = { ...source, ignoresUnknown: true, whose: "The model_config_file" };
  const fields = readFields(node, FILE_FIELDS, options);
  return (fields?.model_config_list ?? []).map(toModelConfig);
}

/** Relative paths refer to the working directory, as in the original. */
function toModelConfig(fields: FieldValues<typeof MODEL_FIELDS>): ModelConfig {
  const { name, base_path: path, platform = "tensorflow" } = fields;
  const driver = Object.hasOwn(DRIVERS, platform) ? DRIVERS[platform] : undefined;
  const unknown = `${name} is of the platform ${platform}, for which there is no driver; expected one of ${Object.keys(DRIVERS).join(", ")}`;
  const refusal = driver === undefined ? unknown : remotePathRefusal(path);
  return modelConfig({
    name,
    path: remotePathRefusal(path) === undefined ? toPlace(modelPath(path, driver)) : path,
    options: toOptions(fields),
    // All that there are can be asked for.
    versions: { kind: "all" },
    ...(driver !== undefined && { driver }),
    ...(refusal !== undefined && { refusal }),
  });
}

/** MXNet's models are named by what their files' names begin with. */
function modelPath(path: string, driver: string | undefined): string {
  const symbol = `${path}-symbol.json`;
  return driver === "mxnet" && existsSync(symbol) ? symbol : path;
}

function toOptions({ session_config, custom_op_paths }: FieldValues<typeof MODEL_FIELDS>): RawOptions {
  const session = session_config === undefined ? "{}" : jsonOf(session_config);
  const folders = (custom_op_paths ?? "").split(",").filter((folder) => folder.trim() !== "");
  return {
    ...(session !== "{}" && { session_config: session }),
    ...(folders.length > 0 && { custom_op_paths: folders.map((folder) => resolve(folder.trim())).join(",") }),
  };
}
