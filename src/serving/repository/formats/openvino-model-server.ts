import type { RawOptions } from "../../../drivers/option-table.ts";
import { reasonText } from "../../../errors.ts";
import type { ConfigNode } from "../../../tensor/codecs/config/config-node.ts";
import { type ConfigSource, pathIn, remotePathRefusal } from "../config/config-source.ts";
import type { FieldKind, FieldValues } from "../config/field-table.ts";
import { Findings, jsonOf } from "../config/findings.ts";
import { type ModelConfig, modelConfig } from "../config/model-config.ts";
import { readFields } from "../config/read-fields.ts";
import { toVersionPolicy, VERSION_POLICY_FIELDS } from "../config/versions.ts";

/** A text for the whole model, or an object of texts by input. */
const BY_INPUT = {
  type: "custom",
  expected: "a text, or texts by input",
  read: (node: ConfigNode) => (node.kind === "scalar" ? node.text : node.kind === "map" ? jsonOf(node) : undefined),
  schema: {},
} as const satisfies FieldKind;

const NOT_HERE = "graphs of other programs are not served; a hook file chains models";

const MODEL_FIELDS = {
  name: { type: "text", required: true },
  base_path: { type: "text" },
  model_version_policy: { type: "any" },
  target_device: { type: "text" },
  batch_size: { type: "text" },
  shape: BY_INPUT,
  layout: BY_INPUT,
  plugin_config: { type: "any" },
  color_format: BY_INPUT,
  mean: BY_INPUT,
  scale: BY_INPUT,
  precision: { type: "any", unused: "numbers of other types are converted as they come" },
  nireq: {
    type: "any",
    unused: "as many requests run side by side as the device has streams (NUM_STREAMS in plugin_config)",
  },
  allow_cache: { type: "any", unused: "cache_dir alone decides what is cached" },
  idle_sequence_cleanup: { type: "any", unused: "there are no sequences" },
  stateful: { type: "any", unused: "a stateful model is recognised by its file" },
  low_latency_transformation: { type: "any", unused: "the model is taken as it is" },
  max_sequence_number: { type: "any", unused: "there are no sequences" },
  custom_loader_options: { type: "any" },
  graph_path: { type: "text" },
  subconfig: { type: "text" },
} as const;

const ENTRY_FIELDS = { config: { type: "group", fields: MODEL_FIELDS, required: true } } as const;

/**
 * The keys of OpenVINO Model Server's config.json:
 * https://docs.openvino.ai/2026/model-server/ovms_docs_serving_model.html
 */
export const OPENVINO_MODEL_SERVER_FIELDS = {
  model_config_list: { type: "group", fields: ENTRY_FIELDS, repeated: true },
  pipeline_config_list: { type: "any", unused: NOT_HERE },
  mediapipe_config_list: { type: "any", unused: NOT_HERE },
  custom_node_library_config_list: { type: "any", unused: NOT_HERE },
  custom_loader_config_list: { type: "any", unused: "models are not loaded by other programs' libraries" },
  monitoring: { type: "any", unused: "GET /metrics answers without it" },
} as const;

/** Reads OpenVINO Model Server's config.json. */
export function readOpenvinoModelServer(node: ConfigNode, source: ConfigSource): ModelConfig[] {
  const fields = readFields(node, OPENVINO_MODEL_SERVER_FIELDS, { ...source, whose: "The config.json" });
  return (fields?.model_config_list ?? []).map(({ config }) => toModelConfig(config, source));
}

type Fields = FieldValues<typeof MODEL_FIELDS>;

function toModelConfig(fields: Fields, source: ConfigSource): ModelConfig {
  const { name, base_path: path } = fields;
  const policy = readPolicy(fields, source);
  const refusal = refusalOf(fields) ?? policy.refusal;
  return modelConfig({
    name,
    driver: "openvino",
    options: toOptions(fields),
    versions: toVersionPolicy(policy.fields),
    ...(path !== undefined && { path: remotePathRefusal(path) === undefined ? pathIn(source, path) : path }),
    ...(refusal !== undefined && { refusal }),
  });
}

/** As there, a policy that cannot be read costs its model alone. */
function readPolicy({ name, model_version_policy: node }: Fields, source: ConfigSource) {
  if (node === undefined) return {};
  const findings = new Findings();
  const fields = readFields(node, VERSION_POLICY_FIELDS, { ...source, findings, whose: '"model_version_policy"' });
  try {
    findings.assertNone();
    return { fields };
  } catch (reason) {
    return {
      refusal: `${name} has a model_version_policy that cannot be read: ${reasonText(reason)}`.replace(/\.$/, ""),
    };
  }
}

function refusalOf({
  name,
  base_path: path,
  custom_loader_options,
  graph_path,
  subconfig,
}: Fields): string | undefined {
  if (custom_loader_options !== undefined) return `${name} is loaded by a custom loader, which is not done here`;
  if (graph_path !== undefined || subconfig !== undefined) return `${name} is a graph: ${NOT_HERE}`;
  if (path === undefined) return `${name} has no base_path; expected the folder of its versions`;
  return remotePathRefusal(path);
}

/** A shape overrides the batch size. */
function toOptions({
  target_device,
  batch_size,
  shape,
  layout,
  plugin_config,
  color_format,
  mean,
  scale,
}: Fields): RawOptions {
  return {
    ...(target_device !== undefined && { device: target_device }),
    ...(batch_size !== undefined && batch_size !== "0" && shape === undefined && { batch_size }),
    ...(shape !== undefined && { shape }),
    ...(layout !== undefined && { layout }),
    ...(plugin_config !== undefined && { plugin_config: jsonOf(plugin_config) }),
    ...(color_format !== undefined && { color_format: color_format.split(":", 1)[0]! }),
    ...(mean !== undefined && { mean: bare(mean) }),
    ...(scale !== undefined && { scale: bare(scale) }),
  };
}

/** `[1,2,3]` and `(1,2,3)` as `1,2,3`. */
function bare(text: string): string {
  return text.replace(/^[[(]|[\])]$/g, "");
}
