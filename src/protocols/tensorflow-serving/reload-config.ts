import { isAbsolute } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { invalidArgument } from "../../errors.ts";
import type { DescribedModel } from "../../serving/described-model.ts";

/** The models of a tensorflow.serving.ReloadConfigRequest in protobuf's JSON form; throws `invalid_argument` with TensorFlow Serving's texts. */
export function readReloadConfig(request: JsonObject): readonly DescribedModel[] {
  const { model_config_list: list } = (request.config ?? {}) as { model_config_list?: { config: JsonObject[] } };
  if (list === undefined) throw invalidArgument(NO_LIST);
  const models = list.config.map(toModel);
  const twice = models.find(({ name }, index) => models.findIndex((one) => one.name === name) < index);
  if (twice !== undefined) throw invalidArgument(`Illegal to list model ${twice.name} multiple times in config list`);
  return models;
}

const NO_LIST =
  "ServerModelConfig type not supported by HandleReloadConfigRequest. Only ModelConfigList is currently supported";

function toModel({ name, base_path, model_version_policy: policy, version_labels }: JsonObject): DescribedModel {
  const [model, path] = [String(name), String(base_path)];
  if (model === "") throw invalidArgument("A model of the config list has no name; expected one.");
  if (!isAbsolute(path))
    throw invalidArgument(`Expected model ${model} to have an absolute path or URI; got base_path()=${path}`);
  const labels = Object.entries((version_labels ?? {}) as Record<string, string>);
  return {
    name: model,
    path,
    versions: toVersions((policy ?? {}) as Policy),
    labels: Object.fromEntries(labels.map(([label, version]) => [label, BigInt(version)])),
  };
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
