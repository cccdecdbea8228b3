import { isAbsolute, resolve } from "node:path";
import type { ConfigNode } from "../../codecs/config/config-node.ts";
import { DRIVER_NAMES } from "../../drivers/registry.ts";
import type { RequestLogOptions } from "../../serving/request-log.ts";
import { filePath, isRemoteAddress } from "../../storage/remote-address.ts";
import type { FieldValues } from "../config/field-table.ts";
import { type ModelConfig, modelConfig } from "../config/model-config.ts";
import { prefixPath } from "../config/prefix-path.ts";
import { readFields } from "../config/read-fields.ts";
import { type ConfigSource, remotePathRefusal } from "./config-source.ts";
import { toVersionPolicy, VERSION_POLICY_FIELDS } from "./version-policy-fields.ts";

const LOGGING_FIELDS = {
  log_collector_config: {
    type: "group",
    fields: {
      type: { type: "text" },
      filename_prefix: { type: "text" },
    },
  },
  sampling_config: {
    type: "group",
    fields: {
      sampling_rate: { type: "number", min: 0, max: 1 },
      attributes: { type: "any", unused: "clients name neither their origin nor how urgent a request is" },
    },
  },
} as const;

const MODEL_FIELDS = {
  name: { type: "text", required: true },
  base_path: { type: "text", required: true },
  model_type: { type: "choice", choices: ["MODEL_TYPE_UNSPECIFIED", "TENSORFLOW", "OTHER"] },
  model_platform: { type: "text" },
  model_version_policy: { type: "group", fields: VERSION_POLICY_FIELDS },
  version_labels: { type: "pairs", values: { type: "version" } },
  logging_config: { type: "group", fields: LOGGING_FIELDS },
} as const;

/**
 * The keys of a `model_config_file`:
 * https://github.com/tensorflow/serving/blob/master/tensorflow_serving/config/model_server_config.proto
 */
export const TENSORFLOW_SERVING_FIELDS = {
  model_config_list: { type: "group", fields: { config: { type: "group", fields: MODEL_FIELDS, repeated: true } } },
  custom_model_config: { type: "any", unused: "TensorFlow Serving itself knows no such models" },
} as const;

/** Reads TensorFlow Serving's `model_config_file`. */
export function readTensorflowServing(node: ConfigNode, source: ConfigSource): ModelConfig[] {
  const fields = readFields(node, TENSORFLOW_SERVING_FIELDS, { ...source, whose: "The model_config_file" });
  const configs = fields?.model_config_list?.config ?? [];
  for (const { name, logging_config: logging } of configs) {
    if (logging === undefined || logging.log_collector_config?.filename_prefix !== undefined) continue;
    const problem = "has no log_collector_config with a filename_prefix";
    source.findings.warn(node.place, `logging_config of ${name} ${problem}: requests are recorded with --request-log.`);
  }
  return configs.map(toModelConfig);
}

function toModelConfig(fields: FieldValues<typeof MODEL_FIELDS>): ModelConfig {
  const { name, base_path: path, version_labels: labels = new Map() } = fields;
  const driver = driverOf(fields);
  const refusal = refusalOf(fields, driver);
  const requestLog = toRequestLog(fields);
  return modelConfig({
    name,
    path: filePath(path),
    labels,
    versions: toVersionPolicy(fields.model_version_policy),
    ...(driver !== undefined && { driver }),
    ...(requestLog !== undefined && { requestLog }),
    ...(refusal !== undefined && { refusal }),
  });
}

/** A collector's type has no effect here. Relative paths refer to the working directory, as in the original. */
function toRequestLog({ logging_config: logging }: FieldValues<typeof MODEL_FIELDS>): RequestLogOptions | undefined {
  const prefix = logging?.log_collector_config?.filename_prefix;
  const rate = logging?.sampling_config?.sampling_rate;
  if (prefix === undefined && rate === undefined) return undefined;
  return {
    ...(prefix !== undefined && { prefix: prefixPath(prefix, (one) => resolve(one)) }),
    ...(rate !== undefined && { rate }),
  };
}

/** TensorFlow Serving knows only one platform; names of other drivers are accepted too. */
function driverOf({ model_platform: platform, model_type: type }: FieldValues<typeof MODEL_FIELDS>) {
  const name = platform ?? (type === "TENSORFLOW" ? "tensorflow" : undefined);
  return name !== undefined && DRIVER_NAMES.includes(name) ? name : undefined;
}

/** TensorFlow Serving's text, where clients or scripts match on it. */
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

/**
 * The reason why a model is not served from a base path, in TensorFlow Serving's text;
 * undefined for an absolute local path.
 */
export function basePathRefusal(name: string, path: string): string | undefined {
  const remote = remotePathRefusal(path);
  if (remote !== undefined) return remote;
  return isAbsolute(filePath(path)) || isRemoteAddress(path)
    ? undefined
    : `Expected model ${name} to have an absolute path or URI; got base_path()=${path}`;
}
