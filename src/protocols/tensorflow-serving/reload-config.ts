import type { JsonObject } from "@bufbuild/protobuf";
import { invalidArgument } from "../../errors.ts";
import type { DescribedModel } from "../../serving/described-model.ts";
import { assertModelName } from "../../serving/model-name.ts";
import type { RequestLogOptions } from "../../serving/request-log.ts";

/**
 * The models of a tensorflow.serving.ReloadConfigRequest in protobuf's JSON form; throws `invalid_argument` with
 * TensorFlow Serving's texts.
 */
export function readReloadConfig(request: JsonObject): readonly DescribedModel[] {
  const { model_config_list: list } = (request.config ?? {}) as { model_config_list?: { config: JsonObject[] } };
  if (list === undefined) throw invalidArgument(NO_LIST);
  const models = list.config.map(toModel);
  const names = new Set<string>();
  const twice = models.find(({ name }) => names.size === names.add(name).size);
  if (twice !== undefined) throw invalidArgument(`Illegal to list model ${twice.name} multiple times in config list`);
  return models;
}

const NO_LIST =
  "ServerModelConfig type not supported by HandleReloadConfigRequest. Only ModelConfigList is currently supported";

function toModel(config: JsonObject): DescribedModel {
  const { name, base_path, model_version_policy: policy, version_labels, logging_config: logging } = config;
  if (name === "") throw invalidArgument("A model of the config list has no name; expected one.");
  assertModelName(String(name));
  const labels = Object.entries((version_labels ?? {}) as Record<string, string>);
  return {
    name: String(name),
    path: String(base_path),
    versions: toVersions((policy ?? {}) as Policy),
    labels: Object.fromEntries(labels.map(([label, version]) => [label, BigInt(version)])),
    ...(logging != null && { requestLog: toRequestLog(String(name), logging as Logging) }),
  };
}

interface Logging {
  readonly log_collector_config?: { readonly filename_prefix: string };
  readonly sampling_config?: { readonly sampling_rate: number };
}

/** The members that it has; the others are those of the server. */
function toRequestLog(model: string, { log_collector_config, sampling_config }: Logging): RequestLogOptions {
  const { filename_prefix: prefix = "" } = log_collector_config ?? {};
  const { sampling_rate: rate } = sampling_config ?? {};
  // NaN and infinities are texts in protobuf's JSON.
  if (rate !== undefined && !(rate >= 0 && rate <= 1))
    throw invalidArgument(`The sampling_rate of model ${model} is ${rate}; expected a number from 0 to 1.`);
  return { ...(prefix !== "" && { prefix }), ...(rate !== undefined && { rate }) };
}

interface Policy {
  readonly latest?: { readonly num_versions: number };
  readonly all?: object;
  readonly specific?: { readonly versions: readonly string[] };
}

function toVersions({ latest, all, specific }: Policy): DescribedModel["versions"] {
  if (specific !== undefined) return specific.versions.map(BigInt);
  return all === undefined ? { latest: Math.max(1, latest?.num_versions ?? 1) } : "all";
}
