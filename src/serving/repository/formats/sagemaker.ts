import type { Dirent } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import type { RawOptions } from "../../../drivers/option-table.ts";
import { failedPrecondition, invalidArgument } from "../../../errors.ts";
import { readProblem } from "../../../platform/text/file-problem.ts";
import { type ModelConfig, modelConfig } from "../config/model-config.ts";

/** The folder below which a platform puts models. */
export interface PlatformFolder {
  /** Its path as the platform has it in its calls: `/opt/ml/models`. */
  readonly named: string;
  /** Its path on this machine. */
  readonly path: string;
  /** Name of their hook files, if it is another than the usual ones. */
  readonly program?: string | undefined;
  /** `-o` options for all its models. */
  readonly options?: RawOptions | undefined;
}

/** A model's folder of versions, or of its files, and its hooks. */
interface PlatformModel {
  readonly path: string;
  readonly hooks?: string;
}

/**
 * Finds the model of a folder that the platform names. Undefined for one that is not there, is outside the platform's
 * folder, links included, or holds neither one folder of versions nor files. Throws as {@link findHooks}.
 */
export async function findPlatformModel(folder: PlatformFolder, url: string): Promise<PlatformModel | undefined> {
  const path = await locate(folder, url);
  if (path === undefined) return undefined;
  const found = await foldersOfVersions(path, 0).catch(() => []);
  const base = found.length === 0 && (await hasFiles(path)) ? path : found.length === 1 ? found[0] : undefined;
  if (base === undefined) return undefined;
  const hooks = await findHooks(base, { root: await realpath(folder.path), program: folder.program });
  return { path: base, ...(hooks !== undefined && { hooks }) };
}

async function locate({ named, path }: PlatformFolder, url: string): Promise<string | undefined> {
  const below = [named, path].map((root) => relative(root, url)).find(isBelow);
  if (below === undefined || !isAbsolute(url)) return undefined;
  const root = await realpath(path).catch(() => undefined);
  const real = root && (await realpath(join(root, below)).catch(() => undefined));
  return root !== undefined && real !== undefined && isBelow(relative(root, real)) ? real : undefined;
}

/** Checks for a path that stays below the one that it is relative to. */
function isBelow(path: string): boolean {
  return path !== "" && path !== ".." && !path.startsWith("../") && !isAbsolute(path) && !path.includes("\0");
}

async function hasFiles(path: string): Promise<boolean> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries.some((entry) => entry.isFile());
}

/** Folders below the model folder that may hold a folder of versions, such as `export/Servo/1`. */
const MAX_DEPTH = 4;
const VERSION = /^\d+$/;
/** Hook files, and files of handlers, the first of which counts. */
const ENDINGS = ["ts", "mts", "js", "mjs", "py"];
const HOOK_FILES = ["hooks", "inference"].flatMap((name) => ENDINGS.map((end) => `${name}.${end}`));

/**
 * Finds the models of a SageMaker container: every folder with numeric folders, under its own name; else the folder
 * itself, as the model `model`. All versions are served. `code/hooks.ts`, or `code/inference.py`, in a model's folder
 * holds its hooks, in a folder around it those of all models there; `program` is another name for them. Throws
 * `failed_precondition` for a folder that cannot be read, `invalid_argument` for a program that is not there.
 */
export async function findSagemakerModels(
  folder: string,
  first: string | undefined,
  program?: string,
): Promise<readonly ModelConfig[]> {
  const paths = await foldersOfVersions(folder, 0);
  const code = { root: folder, program };
  if (paths.length === 0) return [await toConfig("model", folder, code)];
  const models = await Promise.all(paths.map((path) => toConfig(basename(path), path, code)));
  if (first === undefined) return models;
  const chosen = models.find(({ name }) => name === first);
  if (chosen === undefined) {
    const names = models.map(({ name }) => name).join(", ");
    throw invalidArgument(`SAGEMAKER_TFS_DEFAULT_MODEL_NAME is "${first}"; ${folder} has ${names}.`);
  }
  return [chosen, ...models.filter((model) => model !== chosen)];
}

async function toConfig(name: string, path: string, code: CodePlace): Promise<ModelConfig> {
  const hooks = await findHooks(path, code);
  if (hooks === undefined && code.program !== undefined) {
    throw invalidArgument(
      `SAGEMAKER_PROGRAM is "${code.program}", but there is no such file in ${join(path, "code")}, nor in a code folder around it.`,
    );
  }
  if (hooks === undefined) return modelConfig({ name, path, versions: { kind: "all" } });
  // The file loads the model itself, of files that may be no model to any driver.
  if (await hasModelFunction(hooks)) return modelConfig({ name, stages: [{ driver: "null" }], hooks });
  return modelConfig({ name, path, versions: { kind: "all" }, hooks });
}

const MODEL_FUNCTION = /^(?:def +model_fn\b|model_fn *=|from .{1,200} import .{0,200}\bmodel_fn\b)/m;

async function hasModelFunction(hooks: string): Promise<boolean> {
  return hooks.endsWith(".py") && basename(hooks) !== "hooks.py" && MODEL_FUNCTION.test(await readFile(hooks, "utf8"));
}

/** The folders with numeric folders below a folder, or the folder itself if it has them. */
async function foldersOfVersions(folder: string, depth: number): Promise<readonly string[]> {
  const folders = (await list(folder)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
  if (folders.some((name) => VERSION.test(name))) return [folder];
  if (depth === MAX_DEPTH) return [];
  const below = folders.filter((name) => name !== "code" && !name.startsWith(".")).sort();
  return (await Promise.all(below.map((name) => foldersOfVersions(join(folder, name), depth + 1)))).flat();
}

async function list(folder: string) {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return await Promise.all(entries.map((entry) => followLink(folder, entry)));
  } catch (cause) {
    throw failedPrecondition(`${folder}, the model folder of SageMaker, cannot be read: ${readProblem(cause)}`, cause);
  }
}

/** Of a link to nothing its own facts. */
async function followLink(folder: string, entry: Dirent) {
  if (!entry.isSymbolicLink()) return entry;
  const target = await stat(join(folder, entry.name)).catch(() => entry);
  return { name: entry.name, isDirectory: () => target.isDirectory() };
}

/** Places of hook files. */
interface CodePlace {
  /** The folder up to which they are looked for. */
  readonly root: string;
  /** The name of the file that beats others, if it is given; it may be in a folder of `code/`. */
  readonly program?: string | undefined;
}

/** The hook file of a model: of the `code/` in its own folder, else in the nearest folder around it up to the root. */
async function findHooks(path: string, place: CodePlace): Promise<string | undefined> {
  const code = join(path, "code");
  const { root, program } = place;
  if (program !== undefined && (await isFile(join(code, program)))) return join(code, program);
  const names = await readdir(code).catch((): readonly string[] => []);
  const own = HOOK_FILES.find((name) => names.includes(name));
  if (own !== undefined) return join(code, own);
  const above = relative(root, path);
  return above === "" || above.startsWith("..") ? undefined : findHooks(dirname(path), place);
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}
