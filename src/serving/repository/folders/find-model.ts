import { stat } from "node:fs/promises";
import { basename, join, parse, resolve } from "node:path";
import { folderContents } from "../../../drivers/file-kind.ts";
import { isBesideWeights } from "../../../drivers/python/encoder-folder.ts";
import {
  isMlflowFolder,
  isPickleName,
  type MlflowFolder,
  readMlflowFolder,
} from "../../../drivers/python/mlflow-folder.ts";
import { DRIVER_NAMES, detectDriver, findDriver } from "../../../drivers/registry.ts";
import { failedPrecondition } from "../../../errors.ts";
import { EXPORT_FOLDERS } from "../../../text/tokenizer-folder.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { type FolderEntry, isVersionFolder, listFolder } from "./list-folder.ts";

/** Path of a version's model, and the driver that loads it. */
export interface LocatedModel {
  readonly path: string;
  readonly driver: string;
}

/**
 * Finds the model of a version's path and its driver; throws `failed_precondition`
 * if there is none, or no driver for it.
 */
export async function locateModel(
  path: string,
  { driver, file }: Pick<ModelConfig, "driver" | "file">,
): Promise<LocatedModel> {
  const model = file === undefined ? await findModel(path, driver) : join(path, file);
  if (driver !== undefined) return { path: model, driver };
  return { path: model, driver: (await detectDriver(model)).driver.name };
}

/**
 * The model that a path means. A file, and a folder that a driver loads as a whole, mean themselves; a folder of
 * MLflow's means the file in it that a framework's own driver reads; a folder with one model in it means that model.
 * Among several models the one named `model` is chosen, or `openvino_model`, as exporters name it. A folder with a
 * tokenizer, whose models are in a folder of exported graphs, means one of those. A folder without models is returned
 * unchanged, so that a driver reports the error. Throws `failed_precondition` for a folder with several models, and for
 * one with versions of a model.
 */
export async function findModel(path: string, driver?: string): Promise<string> {
  // A user's own driver decides about its folders itself.
  if (driver !== undefined && !DRIVER_NAMES.includes(driver)) return path;
  return mainFile(await chooseModel(path, driver));
}

/** The main file of an ONNX model of several files, for which Triton has a folder of that name. */
async function mainFile(path: string): Promise<string> {
  if (!path.toLowerCase().endsWith(".onnx") || !(await isFolder(path))) return path;
  const models = (await listFolder(path)).filter(({ kind, name }) => kind === "file" && name === "model.onnx");
  return models[0]?.path ?? path;
}

async function chooseModel(path: string, driver: string | undefined): Promise<string> {
  if (!(await isFolder(path))) return path;
  const [described, problem] = driver === "mlflow" ? [undefined] : await tryDescription(path);
  if (described?.file !== undefined && (await isDetected(described.file, driver))) return described.file;
  const others = DRIVER_NAMES.filter((name) => name !== "mlflow");
  if (await isDetectedBy(path, driver === undefined ? others : [driver])) return path;
  if (driver === undefined && described?.isPlain === false) return path;
  const entries = modelEntries(await listFolder(path));
  const found = await modelsIn(entries, driver);
  // A folder beside a model's file does not hide it.
  const files = found.filter((entry) => driver !== undefined || entry.kind === "file" || !isMlflowFolder(entry.path));
  if (driver === undefined && described !== undefined) return onlyFile(files) ?? path;
  const models = files.length > 0 ? files : found;
  const [only, second] = models;
  const exported = only === undefined ? await exportedModel(path, entries, driver) : undefined;
  if (exported !== undefined) return exported;
  if (only === undefined && driver === undefined && problem !== undefined) throw problem;
  if (only === undefined) assertNoVersions(path, entries);
  if (only === undefined) return path;
  if (second === undefined) return only.path;
  assertNoVersions(path, models);
  const named = models.filter(({ name }) => isMain(name));
  if (named.length === 1) return named[0]!.path;
  const cause = folderContents(models.map(({ name }) => name));
  throw failedPrecondition(`The folder "${path}" has several models; expected one, or the path of one.`, cause);
}

/** All but what lies beside the weights of a model of transformers and is no model. */
function modelEntries(entries: readonly FolderEntry[]): readonly FolderEntry[] {
  const isOfTransformers = entries.some(({ name }) => name === "config.json");
  return isOfTransformers ? entries.filter(({ name }) => !isBesideWeights(name)) : entries;
}

/** Optimum and sentence-transformers call a graph `model.onnx` and `openvino_model.xml`; variants have longer names. */
const MAIN_NAMES: readonly string[] = ["model", "openvino_model"];

/** Checks for a file whose name says that it is its folder's model. */
export function isMain(model: string): boolean {
  return MAIN_NAMES.includes(parse(model).name);
}

/** The folders into which an exporter has put graphs, beside a tokenizer. */
export function exportFoldersIn(entries: readonly FolderEntry[]): readonly string[] {
  if (!entries.some(({ name }) => name === "tokenizer.json")) return [];
  return EXPORT_FOLDERS.filter((folder) => entries.some(({ name, kind }) => name === folder && kind === "folder"));
}

/** The graph that an exporter has put into a folder of its own, beside a tokenizer. */
async function exportedModel(
  path: string,
  entries: readonly FolderEntry[],
  driver: string | undefined,
): Promise<string | undefined> {
  for (const folder of exportFoldersIn(entries)) {
    const inside = join(path, folder);
    const found = await chooseModel(inside, driver);
    if (found !== inside) return found;
  }
  return undefined;
}

/** MLflow's description of a folder, or the error of one that cannot be read: other models may lie beside it. */
async function tryDescription(path: string): Promise<readonly [MlflowFolder | undefined, unknown?]> {
  try {
    return [await readMlflowFolder(path)];
  } catch (reason) {
    return [undefined, reason];
  }
}

/** The only file beside a description that names none; pickles there are parts of a model that MLflow alone makes. */
function onlyFile(models: readonly FolderEntry[]): string | undefined {
  const files = models.filter(({ kind, path }) => kind === "file" && !isPickleName(path));
  return files.length === 1 ? files[0]?.path : undefined;
}

/** Refuses a folder of versions if one model is expected; the message says how versions are served. */
function assertNoVersions(path: string, entries: readonly FolderEntry[]): void {
  if (entries.length === 0 || !entries.every(isVersionFolder)) return;
  throw failedPrecondition(
    `The folder "${path}" holds versions of a model; expected --model ${basename(resolve(path))}=${path}, which serves them, or the path of one.`,
    folderContents(entries.map(({ name }) => `${name}/`)),
  );
}

/** The entries of a folder whose names any driver, or a given one, recognises. */
export async function modelsIn(entries: readonly FolderEntry[], driver?: string): Promise<FolderEntry[]> {
  const models: FolderEntry[] = [];
  for (const entry of entries) if (entry.kind !== "other" && (await isDetected(entry.path, driver))) models.push(entry);
  return models;
}

/** Checks that any driver, or a given one, recognises the name of a path. */
export async function isDetected(path: string, driver?: string): Promise<boolean> {
  return isDetectedBy(path, driver === undefined ? DRIVER_NAMES : [driver]);
}

async function isDetectedBy(path: string, names: readonly string[]): Promise<boolean> {
  for (const name of names) if ((await findDriver(name)).driver.detect?.(path)) return true;
  return false;
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}
