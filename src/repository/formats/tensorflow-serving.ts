import { isAbsolute } from "node:path";
import type { ConfigNode } from "../../codecs/config/config-node.ts";
import { DRIVER_NAMES } from "../../drivers/registry.ts";
import type { FieldValues } from "../config/field-table.ts";
import { type ModelConfig, modelConfig } from "../config/model-config.ts";
import { readFields } from "../config/read-fields.ts";
import { type ConfigSource, remotePathRefusal } from "./config-source.ts";
import { toVersionPolicy, VERSION_POLICY_FIELDS } from "./version-policy-fields.ts";

const MODEL_FIELDS = {
  name: { type: "text", required: true },
  base_path: { type: "text", required: true },
  model_type: { type: "choice", choices: ["MODEL_TYPE_UNSPECIFIED", "TENSORFLOW", "OTHER"] },
  model_platform: { type: "text" },
  model_version_policy: { type: "group", fields: VERSION_POLICY_FIELDS },
  version_labels: { type: "pairs", values: { type: "version" } },
  logging_config: { type: "any", unused: "requests are not recorded in files" },
} as const;

/** The keys of a `model_config_file`: https://github.com/tensorflow/serving/blob/master/tensorflow_serving/config/model_server_config.proto */
export const TENSORFLOW_SERVING_FIELDS = {
  model_config_list: { type: "group", fields: { config: { type: "group", fields: MODEL_FIELDS, repeated: true } } },
  custom_model_config: { type: "any", unused: "TensorFlow Serving itself knows no such models" },
} as const;

/** Reads TensorFlow Serving's `model_config_file`. */
export function readTensorflowServing(node: ConfigNode, source: ConfigSource): ModelConfig[] {
  const fields = readFields(node, TENSORFLOW_SERVING_FIELDS, { ...source, whose: "The model_config_file" });
  const configs = fields?.model_config_list?.config ?? [];
  return configs.map(toModelConfig);
}

function toModelConfig(fields: FieldValues<typeof MODEL_FIELDS>): ModelConfig {
  const { name, base_path: path, version_labels: labels = new Map() } = fields;
  const driver = driverOf(fields);
  const refusal = refusalOf(fields, driver);
  return modelConfig({
    name,
    path,
    labels,
    versions: toVersionPolicy(fields.model_version_policy),
    ...(driver !== undefined && { driver }),
    ...(refusal !== undefined && { refusal }),
  });
}

/** TensorFlow Serving knows one platform; names of other drivers do no harm. */
function driverOf({ model_platform: platform, model_type: type }: FieldValues<typeof MODEL_FIELDS>) {
  const name = platform ?? (type === "TENSORFLOW" ? "tensorflow" : undefined);
  return name !== undefined && DRIVER_NAMES.includes(name) ? name : undefined;
}

/** In TensorFlow Serving's words where clients or scripts look for them. */
function refusalOf(
  { name, base_path: path, model_platform: platform }: FieldValues<typeof MODEL_FIELDS>,
  driver: string | undefined,
): string | undefined {
  if (driver === undefined && platform !== undefined)
    return `Model ${name} requests unsupported platform ${platform}; expected one of ${DRIVER_NAMES.join(", ")}`;
  if (driver === undefined)
    return `Illegal setting neither ModelServerConfig::model_type (deprecated) nor ModelServerConfig::model_platform, model name is ${name}`;
  return basePathRefusal(name, path);
}

/** The reason why a model is not served from a base path, in TensorFlow Serving's words; undefined for an absolute one of this machine. */
export function basePathRefusal(name: string, path: string): string | undefined {
  const remote = remotePathRefusal(path);
  if (remote !== undefined) return remote;
  return isAbsolute(path)
    ? undefined
    : `Expected model ${name} to have an absolute path or URI; got base_path()=${path}`;
}
