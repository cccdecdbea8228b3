import { basename } from "node:path";
import { parseJsonTree } from "../../codecs/config/parse-json-tree.ts";
import { invalidArgument, publicText } from "../../errors.ts";
import { Findings } from "../config/findings.ts";
import type { ModelConfig } from "../config/model-config.ts";
import type { FolderModel } from "../folders/read-triton-config.ts";
import { readTriton } from "../formats/triton.ts";
import { TRITON_FIELDS } from "../formats/triton-fields.ts";
import { fromJsonForm } from "./from-json-form.ts";

/** Maximum length of a model's configuration, in characters. */
const MAX_LENGTH = 256 * 1024;
/** Options that name code to load into the server's process. */
const CODE_OPTIONS = ["custom_op_paths", "extension"];

/** The model that a client's configuration is for. */
interface ModelFolder {
  readonly name: string;
  /** The absolute path of its folder. */
  readonly folder: string;
}

/**
 * Reads a client's configuration for a load: a ModelConfig in JSON. Throws `invalid_argument` for errors in it, and for
 * one that would make the server run code.
 */
export function readConfigOverride(json: string, { name, folder }: ModelFolder): FolderModel {
  try {
    if (json.length > MAX_LENGTH)
      throw invalidArgument(`it has ${json.length} characters; expected ${MAX_LENGTH} at most`);
    const node = parseJsonTree(json, "config");
    if (node.kind !== "map") throw invalidArgument("expected a JSON object of a ModelConfig");
    const findings = new Findings();
    const config = readTriton(fromJsonForm(node, TRITON_FIELDS), { findings, folder, name });
    findings.assertNone();
    assertNoCode(config as ModelConfig);
    return { config: config as ModelConfig, warnings: findings.warnings };
  } catch (reason) {
    throw invalidArgument(`Invalid config override: ${publicText(reason)}`, reason);
  }
}

function assertNoCode({ options, file, refusal }: ModelConfig): void {
  if (refusal !== undefined) throw invalidArgument(`${refusal}.`);
  const option = CODE_OPTIONS.find((name) => options[name] !== undefined);
  if (option !== undefined)
    throw invalidArgument(
      `a client may not name libraries that the server loads (${option}); expected a configuration without.`,
    );
  if (file !== undefined && (file !== basename(file) || file === ".."))
    throw invalidArgument(`default_model_filename is "${file}"; expected a name in the version's folder.`);
}
