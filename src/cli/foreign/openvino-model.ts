import { resolve } from "node:path";
import { parseYaml } from "../../codecs/config/yaml.ts";
import { invalidArgument } from "../../errors.ts";
import { Findings } from "../../repository/config/findings.ts";
import type { ModelConfig } from "../../repository/config/model-config.ts";
import { readOpenvinoModelServer } from "../../repository/formats/openvino-model-server.ts";
import type { Translation } from "./translate-flags.ts";

/** Members that are objects, written as JSON on the command line. */
const JSON_MEMBERS = ["plugin_config", "model_version_policy"];

/** The one model of a command line of OpenVINO Model Server, read as its config.json is. Throws `invalid_argument`. */
export function toOpenvinoModel(fields: Translation["fields"]): readonly ModelConfig[] {
  const given = Object.entries(fields).filter(([, text]) => text !== "");
  const config = Object.fromEntries(given.map(([name, text]) => [name, memberOf(name, text)]));
  const findings = new Findings();
  const text = JSON.stringify({ model_config_list: [{ config }] });
  const tree = parseYaml(text, "the command line");
  if (tree === undefined) return [];
  const models = readOpenvinoModelServer(tree, { findings, folder: resolve() });
  findings.assertNone();
  const refused = models.find(({ refusal }) => refusal?.includes("model_version_policy"));
  if (refused !== undefined) throw invalidArgument(`${refused.refusal}.`);
  return models;
}

function memberOf(name: string, text: string): unknown {
  if (!JSON_MEMBERS.includes(name)) return text;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Reported below, like a value of another type.
  }
  throw invalidArgument(`--${name} is ${text}; expected a JSON object.`);
}
