import { existsSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { failedPrecondition, reasonText } from "../../errors.ts";
import type { ConfigNode } from "../../tensor/codecs/config/config-node.ts";
import { parseYaml } from "../../tensor/codecs/config/yaml.ts";

/** Name of the file by which MLflow describes the model in its folder. */
const DESCRIPTION = "MLmodel";
/** A signature of thousands of columns takes less. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Flavors whose own file or folder a driver reads as it is, and the member that names it. The first one counts: what
 * ONNX Runtime or TensorFlow runs needs no Python.
 */
const OWN_FILES = [
  ["onnx", "data"],
  ["tensorflow", "saved_model_dir"],
  ["xgboost", "data"],
  ["lightgbm", "data"],
  ["catboost", "data"],
  ["sklearn", "pickled_model"],
] as const;

/** Checks if a folder is one that MLflow's `save_model` wrote. */
export function isMlflowFolder(path: string): boolean {
  return existsSync(join(path, DESCRIPTION));
}

/**
 * The file or folder of a model of MLflow's that a framework's own driver may read; undefined if it has none, or the
 * folder is none of MLflow's. Throws `failed_precondition` for a description that cannot be read.
 */
export function ownFileOf(folder: string): string | undefined {
  const description = join(folder, DESCRIPTION);
  const stat = statSync(description, { throwIfNoEntry: false });
  if (stat?.isFile() !== true) return undefined;
  const flavors = member(stat.size > MAX_BYTES ? undefined : readDescription(description), "flavors");
  if (flavors?.kind !== "map")
    throw failedPrecondition(`"${description}" has no flavors; expected what MLflow's save_model wrote.`);
  for (const [flavor, place] of OWN_FILES) {
    const named = member(member(flavors, flavor), place);
    const file = named?.kind === "scalar" && typeof named.value === "string" ? join(folder, named.value) : folder;
    const inside = relative(folder, file);
    // Nothing outside the folder is the model's.
    if (inside !== "" && !inside.startsWith("..") && existsSync(file)) return file;
  }
  return undefined;
}

function readDescription(path: string): ConfigNode | undefined {
  try {
    return parseYaml(readFileSync(path, "utf8"), path);
  } catch (reason) {
    throw failedPrecondition(`The description of a model of MLflow cannot be read: ${reasonText(reason)}`, reason);
  }
}

function member(node: ConfigNode | undefined, name: string): ConfigNode | undefined {
  return node?.kind === "map" ? node.entries.find(({ key }) => key === name)?.value : undefined;
}
