import { isAbsolute, resolve } from "node:path";
import type { RawOptions } from "../../../drivers/option-table.ts";
import { DRIVER_NAMES } from "../../../drivers/registry.ts";
import { filePath, isRemoteAddress } from "../../../storage/remote-address.ts";
import type { ConfigNode } from "../../../tensor/codecs/config/config-node.ts";
import type { RequestLogOptions } from "../../request-log.ts";
import { type ConfigSource, prefixPath, remotePathRefusal } from "../config/config-source.ts";
import type { FieldValues } from "../config/field-table.ts";
import { type ModelConfig, modelConfig } from "../config/model-config.ts";
import { readFields } from "../config/read-fields.ts";
import { toVersionPolicy, VERSION_POLICY_FIELDS } from "../config/versions.ts";

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

/** TensorFlow Serving's text, if clients or scripts match on it. */
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

/** Form of a number that may be absent in protobuf's text format. */
const WRAPPED = { type: "group", fields: { value: { type: "integer", min: 0 } } } as const;
const ONE_THREAD_A_COPY = "each copy of a model runs one batch after the other; --instances says how many copies";

/** The keys of a `batching_parameters_file`. */
export const BATCHING_FIELDS = {
  max_batch_size: WRAPPED,
  max_execution_batch_size: WRAPPED,
  enable_large_batch_splitting: { type: "group", fields: { value: { type: "boolean" } } },
  max_enqueued_batches: WRAPPED,
  batch_timeout_micros: WRAPPED,
  allowed_batch_sizes: { type: "integer", min: 1, repeated: true },
  pad_variable_length_inputs: { type: "boolean" },
  num_batch_threads: { type: "any", unused: ONE_THREAD_A_COPY },
  thread_pool_name: { type: "any", unused: "there is no pool to name" },
} as const;

/** TensorFlow Serving's defaults. */
const DEFAULTS = { maxRows: 1000, maxWaitingBatches: 10 } as const;

/** Values of these keys. */
type BatchingFields = FieldValues<typeof BATCHING_FIELDS>;

/** Reads TensorFlow Serving's `batching_parameters_file` as `-o` options. */
export function readBatchingParameters(node: ConfigNode, source: ConfigSource): RawOptions {
  return batchingOptions(readFields(node, BATCHING_FIELDS, { ...source, whose: "The batching_parameters_file" }) ?? {});
}

/** The `-o` options for these values, with that server's defaults. */
export function batchingOptions(fields: BatchingFields): RawOptions {
  const { pad_variable_length_inputs: pad } = fields;
  const requestRows = fields.max_batch_size?.value ?? DEFAULTS.maxRows;
  const { rows, allowed } = rowsOfRun(fields, requestRows);
  return {
    max_batch_size: String(rows),
    max_request_rows: String(requestRows),
    max_enqueued_batches: String(fields.max_enqueued_batches?.value ?? DEFAULTS.maxWaitingBatches),
    batch_timeout_us: String(fields.batch_timeout_micros?.value ?? 0),
    ...(allowed.length > 0 && { allowed_batch_sizes: allowed.join(",") }),
    ...(pad !== undefined && { pad_variable_length_inputs: String(pad) }),
  };
}

/**
 * The rows of a run: those of a request, or fewer if larger requests are split; then as many as these are padded to.
 */
function rowsOfRun(fields: BatchingFields, requestRows: number) {
  const { allowed_batch_sizes: allowed = [], max_execution_batch_size: execution } = fields;
  if (fields.enable_large_batch_splitting?.value !== true) return { rows: requestRows, allowed };
  const wanted = Math.min(execution?.value ?? requestRows, requestRows);
  const rows = allowed.find((size) => size >= wanted) ?? wanted;
  return { rows, allowed: allowed.filter((size) => size <= rows) };
}
