import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, extname, join, parse, resolve } from "node:path";
import { meantFile } from "../../drivers/file-kind.ts";
import { parseOptions, type RawOptions } from "../../drivers/option-table.ts";
import { readEncoder } from "../../drivers/python/encoder-folder.ts";
import { DRIVER_NAMES, findDriver } from "../../drivers/registry.ts";
import { TENSORFLOW_OPTIONS, type TensorflowOptions } from "../../drivers/tensorflow/engine.ts";
import { findModelSource, type ModelFormat } from "../../drivers/tensorflow/model-source.ts";
import { failedPrecondition } from "../../errors.ts";
import { createSilentLogger } from "../../observability/logger.ts";
import { readProblem } from "../../platform/text/file-problem.ts";
import { compileUserModule } from "../../platform/user-module/user-module.ts";
import { type LocatedModel, locateModel } from "../../serving/repository/folders/find-model.ts";
import { listVersions } from "../../serving/repository/folders/list-versions.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";
import type { ImageNeeds } from "../../tools/export/deployment.ts";

interface GivenModel {
  readonly path?: string;
  readonly driver?: string;
  readonly options: RawOptions;
}

const NATIVE: ImageNeeds = { runtimes: ["tensorflow"], packages: [] };
const NOTHING: ImageNeeds = { runtimes: [], packages: [] };

/** The build of ONNX Runtime for GPUs, which is no part of the package. */
const ONNX_ON_CUDA = "onnx --device cuda";
const ON_CUDA = /^(?:gpu|cuda|tensorrt)$/i;

/** Packages that kserving is installed without. */
const PACKAGES: Partial<Record<ModelFormat, string>> = {
  tflite: "@litertjs/core",
  h5: "h5wasm",
  keras: "h5wasm",
};

/** Options that only TensorFlow's own library has. */
const NATIVE_OPTIONS = ["tensorflow_lib", "custom_op_paths", "session_config", "xla"] as const;

/** `import a.b as c, d` and `from a.b import c`, at any depth of the code. */
const IMPORTS = /^[ \t]*(?:import[ \t]+(?<list>[^#\n]+)|from[ \t]+(?<from>\w+)[\w.]*[ \t]+import\b)/gm;

/** Drivers of a deployment, each once, and the parts of its image that some of their models need. */
export interface DeploymentNeeds {
  readonly drivers: readonly string[];
  readonly needs: ImageNeeds;
}

/**
 * Finds what models and hooks run on; the driver of a model at an address by its name. Throws for a path without a
 * model.
 */
export async function needsOf(models: readonly GivenModel[], hooks: readonly string[]): Promise<DeploymentNeeds> {
  const drivers = new Set<string>();
  const [runtimes, packages] = [new Set<string>(), new Set<string>()];
  for (const model of models) {
    const located = await locate(model);
    if (located === undefined) continue;
    drivers.add((await isOfTransformers(located, model.options)) ? "transformers" : located.driver);
    if (located.driver === "onnx" && ON_CUDA.test(model.options.runtime_backend ?? "")) runtimes.add(ONNX_ON_CUDA);
    if (located.driver !== "tensorflow") continue;
    const needs = await tensorflowNeeds(located.path, model.options);
    for (const name of needs.runtimes) runtimes.add(name);
    for (const name of needs.packages) packages.add(name);
  }
  if (hooks.some((file) => file.endsWith(".py"))) drivers.add("python");
  return { drivers: [...drivers], needs: { runtimes: [...runtimes], packages: [...packages] } };
}

/** Checks if what the other driver needs is what a model of pytorch needs, too. */
async function isOfTransformers({ path, driver }: LocatedModel, { model_class: own }: RawOptions): Promise<boolean> {
  return driver === "pytorch" && own === undefined && (await readEncoder(path)) !== undefined;
}

async function locate({ path = "", driver }: GivenModel): Promise<LocatedModel | undefined> {
  if (driver !== undefined && driver !== "tensorflow") {
    await assertThere(path);
    return { path, driver };
  }
  if (path === "") return driver === undefined ? undefined : { path, driver };
  if (isRemoteAddress(path)) return locateByName(path, driver);
  const { versions } = await listVersions(path, driver);
  return locateModel(versions.at(-1)?.path ?? path, driver === undefined ? {} : { driver });
}

/** A model of another form than a file's path, such as the name of a package, is not looked for. */
async function assertThere(path: string): Promise<void> {
  if (extname(path) === "" || isRemoteAddress(path)) return;
  await stat(path).catch((cause) => {
    throw failedPrecondition(
      `The model "${path}" ${readProblem(cause)}; expected a file or a folder.${meantFile(path)}`,
      cause,
    );
  });
}

/** Only the name of an address is known. */
async function locateByName(path: string, driver: string | undefined): Promise<LocatedModel | undefined> {
  if (driver !== undefined) return { path, driver };
  for (const name of DRIVER_NAMES) if ((await findDriver(name)).driver.detect?.(path)) return { path, driver: name };
  return undefined;
}

/**
 * Parts of an image that a model of the tensorflow driver needs: its own library for what the portable engine refuses,
 * or serves in part, and for a model at an address, of which nothing is known.
 */
async function tensorflowNeeds(path: string, raw: RawOptions): Promise<ImageNeeds> {
  const options = parseOptions<TensorflowOptions>(TENSORFLOW_OPTIONS, raw);
  const isRemote = isRemoteAddress(path);
  const format = isRemote ? formatByName(path) : findModelSource(path).format;
  const name = PACKAGES[format];
  if (name !== undefined) return { runtimes: [], packages: [name] };
  if (format === "tfjs-graph" || format === "tfjs-layers" || options.engine === "portable") return NOTHING;
  const isAsked = options.engine === "native" || NATIVE_OPTIONS.some((key) => Boolean(options[key]));
  return isAsked || isRemote || !(await isPortable(path, options)) ? NATIVE : NOTHING;
}

function formatByName(address: string): ModelFormat {
  if (/\.tflite$/i.test(address)) return "tflite";
  if (/\.(?:h5|hdf5|keras)$/i.test(address)) return "keras";
  return /\.json$/i.test(address) ? "tfjs-graph" : "saved-model";
}

/** Loads the model to find out; a warning is about what would be missing. */
async function isPortable(path: string, options: TensorflowOptions): Promise<boolean> {
  const { default: tensorflow } = await import("../../drivers/tensorflow/tensorflow.ts");
  const warnings: string[] = [];
  const log = { ...createSilentLogger(), warn: (text: string) => void warnings.push(text) };
  try {
    const model = await tensorflow.load(path, { ...options, engine: "portable" }, { log, threads: 1 });
    await model.close();
  } catch {
    return false;
  }
  return warnings.length === 0;
}

/**
 * The files of a model: its folder, with a slash behind it, or its file and those next
 * to it whose names begin alike, such as weights.
 */
export async function filesOfModel(path = ""): Promise<readonly string[]> {
  if (path === "" || isRemoteAddress(path)) return [];
  if ((await stat(path).catch(() => undefined))?.isDirectory()) return [path.endsWith("/") ? path : `${path}/`];
  const { dir, name } = parse(path);
  const beside = await readdir(dirname(path)).catch(() => [basename(path)]);
  return beside
    .filter((each) => parse(each).name === name || each.startsWith(`${name}.`))
    .map((each) => join(dir, each));
}

/** A file of hooks or of a driver, then the local files that it imports. Throws as its compilation does. */
export async function filesOfModule(path: string | undefined): Promise<readonly string[]> {
  if (path === undefined) return [];
  if (extname(path) === ".py") return filesOfPythonFile(path);
  const compiled = await compileUserModule(path, true);
  await compiled.dispose();
  const own = compiled.sources.filter((source) => !source.includes("node_modules"));
  const itself = [resolve(path), await realpath(path)];
  return [path, ...own.filter((source) => !itself.includes(resolve(source)))];
}

/**
 * A Python file, then the files of its folder that it and those import, packages with all their files, and the list of
 * the packages that it needs from elsewhere.
 */
async function filesOfPythonFile(path: string): Promise<readonly string[]> {
  const folder = dirname(path);
  const found = new Set([path]);
  // A set's loop reaches files that are added on the way.
  for (const file of found)
    if (file.endsWith(".py"))
      for (const name of await importsOf(file)) for (const own of await filesOfName(join(folder, name))) found.add(own);
  const requirements = join(folder, "requirements.txt");
  return (await isFile(requirements)) ? [...found, requirements] : [...found];
}

async function importsOf(file: string): Promise<readonly string[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return [...text.matchAll(IMPORTS)].flatMap(({ groups = {} }) =>
    (groups.from ?? groups.list ?? "").split(",").flatMap((each) => /^\s*(\w+)/.exec(each)?.[1] ?? []),
  );
}

/** A module's file, or a package's files: a folder without Python is none. */
async function filesOfName(path: string): Promise<readonly string[]> {
  if (await isFile(`${path}.py`)) return [`${path}.py`];
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  if (!entries.some(({ name }) => name.endsWith(".py"))) return [];
  return entries
    .filter(
      (entry) => entry.isFile() && !/(?:^|\/)(?:__pycache__|\.[^/]+)(?:\/|$)/.test(entry.parentPath.slice(path.length)),
    )
    .map(({ parentPath, name }) => join(parentPath, name));
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() ?? false;
}
