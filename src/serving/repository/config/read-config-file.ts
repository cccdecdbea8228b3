import type { RawOptions } from "../../../drivers/option-table.ts";
import { folderOf } from "../../../storage/remote-address.ts";
import {
  type ConfigEntry,
  type ConfigMap,
  type ConfigNode,
  configError,
  type Place,
} from "../../../tensor/codecs/config/config-node.ts";
import { parseTextFormat } from "../../../tensor/codecs/config/parse-text-format.ts";
import { parseYaml } from "../../../tensor/codecs/config/yaml.ts";
import { readOwnConfig } from "../formats/kserving.ts";
import { OPENVINO_MODEL_SERVER_FIELDS, readOpenvinoModelServer } from "../formats/openvino-model-server.ts";
import { readSimpleTensorflowServing } from "../formats/simple-tensorflow-serving.ts";
import {
  BATCHING_FIELDS,
  readBatchingParameters,
  readTensorflowServing,
  TENSORFLOW_SERVING_FIELDS,
} from "../formats/tensorflow-serving.ts";
import type { ConfigSource } from "./config-source.ts";
import { readConfigText } from "./config-source.ts";
import { Findings } from "./findings.ts";
import type { ModelConfig } from "./model-config.ts";

/** A configuration file that was read. */
export interface ConfigFile {
  /** The format in which it was read. */
  readonly format: string;
  readonly models: readonly ModelConfig[];
  /** Server settings by the names of their flags. */
  readonly settings: readonly ConfigEntry[];
  /** Batching options for all models of the tensorflow driver. */
  readonly batching?: RawOptions;
  /** Its settings that have no effect here. */
  readonly warnings: readonly string[];
}

/**
 * Reads a configuration file, ours or another server's, distinguished by its content. `settingNames` are the settings
 * that ours may have. Throws `invalid_argument` with all errors and their places, `failed_precondition` for a file that
 * cannot be read.
 */
export async function readConfigFile(path: string, settingNames: readonly string[]): Promise<ConfigFile> {
  const text = await readConfigText(path);
  const findings = new Findings();
  const source = { findings, folder: folderOf(path) };
  const node = isTextFormat(text) ? parseTextFormat(text, path) : parseYaml(text, path);
  const start = { file: path, line: 1, column: 1 };
  const read = isTextFormat(text)
    ? readTextFormat(node as ConfigMap, source)
    : readTree(node, { start, settingNames }, source);
  const seen = new Map<string, number>();
  for (const { name } of read.models ?? []) {
    const earlier = seen.get(name) ?? 0;
    if (earlier > 0) findings.error(placesOf(name, node)[earlier] ?? start, duplicateText(name));
    seen.set(name, earlier + 1);
  }
  findings.assertNone();
  return { models: [], settings: [], ...read, warnings: findings.warnings };
}

/** The places at which a name is a model's, in each format. */
function placesOf(name: string, node: ConfigNode | undefined): readonly Place[] {
  if (node === undefined || node.kind === "scalar") return [];
  if (node.kind === "list") return node.items.flatMap((item) => placesOf(name, item));
  return node.entries.flatMap(({ key, value }) => {
    const isIt = key === "name" && value.kind === "scalar" && value.text === name;
    return isIt ? [value.place] : placesOf(name, value);
  });
}

/** TensorFlow Serving's text, which its users know. */
function duplicateText(name: string): string {
  return `Illegal to list model ${name} multiple times in config list; expected each name once.`;
}

type Read = Pick<ConfigFile, "format"> & Partial<ConfigFile>;

const TEXT_KEYS = [...Object.keys(TENSORFLOW_SERVING_FIELDS), ...Object.keys(BATCHING_FIELDS)];

/** Decides by the first key: ours has no such key, and none followed by a brace. JSON begins with a brace. */
function isTextFormat(text: string): boolean {
  const first = /(\w+)\s*(\{)?/y;
  first.lastIndex = endOfComments(text);
  const [, key, brace] = first.exec(text) ?? [];
  return key !== undefined && (TEXT_KEYS.includes(key) || brace !== undefined);
}

/** The place of the first character that is neither space nor part of a comment. */
function endOfComments(text: string): number {
  const skipped = /\s+|#[^\n]*/y;
  let end = 0;
  while (skipped.test(text)) end = skipped.lastIndex;
  return end;
}

function readTextFormat(node: ConfigMap, source: ConfigSource): Read {
  const has = (fields: object) => node.entries.some(({ key }) => Object.hasOwn(fields, key));
  if (has(TENSORFLOW_SERVING_FIELDS) || !has(BATCHING_FIELDS))
    return { format: "TensorFlow Serving's model_config_file", models: readTensorflowServing(node, source) };
  return { format: "TensorFlow Serving's batching_parameters_file", batching: readBatchingParameters(node, source) };
}

interface Wanted {
  /** Place of the keys that an empty file lacks. */
  readonly start: Place;
  readonly settingNames: readonly string[];
}

function readTree(node: ConfigNode | undefined, { start, settingNames }: Wanted, source: ConfigSource): Read {
  if (node === undefined) throw configError(start, "The file is empty; expected models: with at least one model.");
  if (node.kind !== "map")
    throw configError(node.place, `The file holds no keys; expected models: with at least one model.`);
  const format = formatOf(node);
  if (format === "openvino")
    return { format: "OpenVINO Model Server's config.json", models: readOpenvinoModelServer(node, source) };
  if (format === "simple")
    return {
      format: "Simple TensorFlow Serving's model_config_file",
      models: readSimpleTensorflowServing(node, source),
    };
  return { format: "kserving's configuration", ...readOwnConfig(node, settingNames, source) };
}

/** OpenVINO Model Server wraps each entry in an object named config. */
function formatOf({ entries }: ConfigMap): "openvino" | "simple" | "own" {
  const list = entries.find(({ key }) => key === "model_config_list")?.value;
  const isFlat = list?.kind === "list" && list.items.some((item) => item.kind === "map" && item.entries.some(isName));
  if (isFlat) return "simple";
  return entries.some(({ key }) => Object.hasOwn(OPENVINO_MODEL_SERVER_FIELDS, key)) ? "openvino" : "own";
}

function isName({ key }: ConfigEntry): boolean {
  return key === "name";
}
