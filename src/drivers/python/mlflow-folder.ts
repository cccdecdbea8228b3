import { existsSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { failedPrecondition, reasonText } from "../../errors.ts";
import type { ConfigNode } from "../../tensor/codecs/config/config-node.ts";

/** Name of the file by which MLflow describes the model in its folder. */
const DESCRIPTION = "MLmodel";
/** A signature of thousands of columns takes less; reading more would keep the main thread for too long. */
const MAX_KIB = 512;

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

/** Endings of files that may need code which lies beside them in the folder. */
const PICKLE = /\.(?:pkl|pickle|joblib)$/i;

/** Checks if a folder is one that MLflow's `save_model` wrote. */
export function isMlflowFolder(path: string): boolean {
  const description = join(path, DESCRIPTION);
  return existsSync(description) && statSync(description, { throwIfNoEntry: false })?.isFile() === true;
}

/** Checks if a path is a pickle by its name. */
export function isPickleName(path: string): boolean {
  return PICKLE.test(path);
}

/** MLflow's description of the model in a folder. */
export interface MlflowFolder {
  /** The file or folder that a framework's own driver may read; absent if there is none. */
  readonly file?: string;
  /** True if it tells no more than that MLflow can run the folder. */
  readonly isPlain: boolean;
}

/**
 * Reads the description in a folder of MLflow's; undefined for any other folder. Throws `failed_precondition` for a
 * description that cannot be read.
 */
export async function readMlflowFolder(folder: string): Promise<MlflowFolder | undefined> {
  if (!isMlflowFolder(folder)) return undefined;
  const flavors = member(await readDescription(join(folder, DESCRIPTION)), "flavors");
  if (flavors?.kind !== "map")
    throw failedPrecondition(`"${join(folder, DESCRIPTION)}" has no flavors; expected what MLflow's save_model wrote.`);
  const isPlain = flavors.entries.every(({ key }) => key === FUNCTION);
  for (const [name, place] of OWN_FILES) {
    const flavor = member(flavors, name);
    const file = join(folder, textOf(member(flavor, place)));
    const inside = relative(folder, file);
    // Nothing outside the folder is the model's.
    if (inside === "" || inside.startsWith("..") || !existsSync(file)) continue;
    if (!isPickleName(file) || isPredictAlone(flavor, member(flavors, FUNCTION))) return { file, isPlain };
  }
  return { isPlain };
}

const FUNCTION = "python_function";

/** Checks that a pickle is all that MLflow would load, and its method predict all that it would call. */
function isPredictAlone(flavor: ConfigNode | undefined, ofFunction: ConfigNode | undefined): boolean {
  const hasCode = [flavor, ofFunction].some((each) => textOf(member(each, "code")) !== "");
  return !hasCode && ["", "predict"].includes(textOf(member(ofFunction, "predict_fn")));
}

function textOf(node: ConfigNode | undefined): string {
  return node?.kind === "scalar" && typeof node.value === "string" ? node.value : "";
}

async function readDescription(path: string): Promise<ConfigNode | undefined> {
  if (statSync(path).size > MAX_KIB * 1024)
    throw failedPrecondition(
      `"${path}" has more than ${MAX_KIB} KiB; --driver mlflow leaves it to MLflow, and the path of a file in the folder needs no description.`,
    );
  const { parseYaml } = await import("../../tensor/codecs/config/yaml.ts");
  try {
    return parseYaml(readFileSync(path, "utf8"), path);
  } catch (reason) {
    throw failedPrecondition(`The description of a model of MLflow cannot be read: ${reasonText(reason)}`, reason);
  }
}

function member(node: ConfigNode | undefined, name: string): ConfigNode | undefined {
  return node?.kind === "map" ? node.entries.find(({ key }) => key === name)?.value : undefined;
}
