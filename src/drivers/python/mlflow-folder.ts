import { existsSync, readFileSync, statSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { failedPrecondition, reasonText } from "../../errors.ts";
import type { ConfigNode } from "../../tensor/codecs/config/config-node.ts";
import { isObject } from "../../tensor/record.ts";

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
  ["tensorflow", "data"],
  ["keras", "data"],
  ["xgboost", "data"],
  ["lightgbm", "data"],
  ["catboost", "data"],
  ["sklearn", "pickled_model"],
] as const;

/** Keras' own formats, and a SavedModel, in the folder that flavors of Keras name. */
const KERAS = ["model.keras", "model.h5", "model"];
/** Code that such a model needs. */
const KERAS_CODE = ["custom_objects.cloudpickle", "global_custom_objects.cloudpickle"];

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
    const named = join(folder, textOf(member(flavor, place)));
    const inside = relative(folder, named);
    // Nothing outside the folder is the model's.
    if (inside === "" || inside.startsWith("..") || !existsSync(named)) continue;
    const file = place === "data" && KERAS_FLAVORS.includes(name) ? kerasFile(named) : named;
    if (file === undefined) continue;
    if (!isPickleName(file) || isPredictAlone(flavor, member(flavors, FUNCTION))) return { file, isPlain };
  }
  return { isPlain };
}

const FUNCTION = "python_function";
const KERAS_FLAVORS: readonly string[] = ["tensorflow", "keras"];

/** Keras' model in a folder of MLflow's; undefined if it is none, or needs code of the user's. */
function kerasFile(folder: string): string | undefined {
  if (KERAS_CODE.some((name) => existsSync(join(folder, name)))) return undefined;
  return KERAS.map((name) => join(folder, name)).find((path) => existsSync(path));
}

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

/** Files with an example of a request: as it was given, and as MLflow's server takes it. */
const EXAMPLES = ["input_example.json", "serving_input_example.json"];

/**
 * The first row of the example that MLflow has saved with the model at a path, in its folder, or as the file of it that
 * its description means, by columns; undefined for other models, and for an example that is no row with names.
 */
export async function readMlflowExample(path: string): Promise<ReadonlyMap<string, string | number> | undefined> {
  const folder = path === "" ? undefined : await folderOf(path);
  if (folder === undefined) return undefined;
  const rows = await Promise.all(EXAMPLES.map(async (name) => exampleRow(await readJson(join(folder, name)))));
  return rows.find((row) => row !== undefined && row.size > 0);
}

/** The folder of MLflow's with the model at a path; files of Keras are in a folder in it. */
async function folderOf(path: string): Promise<string | undefined> {
  if (isMlflowFolder(path)) return path;
  const above = dirname(path);
  const folder = [above, dirname(above)].find(isMlflowFolder);
  if (folder === undefined) return undefined;
  // A description that cannot be read is an error only where it is needed.
  const file = (await readMlflowFolder(folder).catch(() => undefined))?.file;
  const isMeant = file === undefined ? folder === above : !relative(file, path).startsWith("..");
  return isMeant ? folder : undefined;
}

/** Undefined for a file that is not there, is too long, or is no JSON: an example is not needed. */
async function readJson(path: string): Promise<unknown> {
  try {
    return (await stat(path)).size > MAX_KIB * 1024 ? undefined : JSON.parse(await readFile(path, "utf8"));
  } catch {
    return undefined;
  }
}

function exampleRow(json: unknown): ReadonlyMap<string, string | number> | undefined {
  if (!isObject(json)) return undefined;
  const { dataframe_split: split = json, dataframe_records: records, inputs } = json;
  if (isObject(split) && Array.isArray(split.columns) && Array.isArray(split.data)) {
    const [row] = split.data;
    return Array.isArray(row)
      ? elementsOf(split.columns.map((name, column) => [String(name), row[column]]))
      : undefined;
  }
  const [row] = Array.isArray(records) ? records : [isObject(inputs) ? inputs : json];
  return isObject(row) ? elementsOf(Object.entries(row)) : undefined;
}

/** A longer text is more of the trained data than an example needs. */
const MAX_CHARACTERS = 200;

/** Of a column's values the first; long texts, and values without a form of JSON, are left out. */
function elementsOf(entries: readonly (readonly [string, unknown])[]): ReadonlyMap<string, string | number> {
  const found = new Map<string, string | number>();
  for (const [name, given] of entries) {
    const value = Array.isArray(given) && given.length > 0 ? given[0] : given;
    if (typeof value === "number" || (typeof value === "string" && value.length <= MAX_CHARACTERS))
      found.set(name, value);
    if (typeof value === "boolean") found.set(name, Number(value));
  }
  return found;
}

function member(node: ConfigNode | undefined, name: string): ConfigNode | undefined {
  return node?.kind === "map" ? node.entries.find(({ key }) => key === name)?.value : undefined;
}
