import { readdirSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { failedPrecondition, invalidArgument, type ServingError } from "../errors.ts";
import { didYouMean } from "../platform/text/nearest.ts";
import { importCompiled } from "../platform/user-module/import-compiled.ts";
import { compileUserModule } from "../platform/user-module/user-module.ts";
import { PLAIN_FRAMEWORKS } from "../storage/runtimes/python-frameworks.ts";
import type { Driver } from "./driver.ts";
import { folderContents, pathHint } from "./file-kind.ts";

type ImportDriver = () => Promise<{ default: Driver }>;

/** Drivers with their own code, by name. Adding one is one line here. */
const OWN: Readonly<Record<string, ImportDriver>> = {
  null: () => import("./null.ts"),
  onnx: () => import("./onnx/onnx.ts"),
  openvino: () => import("./openvino/openvino.ts"),
  pytorch: () => import("./pytorch.ts"),
  python: () => import("./python.ts"),
  tensorflow: () => import("./tensorflow/tensorflow.ts"),
};

/** Every driver by name, those of frameworks in Python too. */
const DRIVERS: Readonly<Record<string, ImportDriver>> = Object.fromEntries(
  [...Object.entries(OWN), ...PLAIN_FRAMEWORKS.map((name) => [name, () => importFramework(name)] as const)].sort(
    ([one], [other]) => (one < other ? -1 : 1),
  ),
);

/** The names for `--driver`, in addition to the path of a user's own driver file. */
export const DRIVER_NAMES: readonly string[] = Object.keys(DRIVERS);

/** Place of a driver's code, as plain data: any thread can import it from there. */
export type DriverLocation = { readonly name: string } | { readonly url: string; readonly file: string };

/** A driver and the place of its code. */
export interface FoundDriver {
  readonly driver: Driver;
  readonly location: DriverLocation;
  /** True for an object of this thread, which no other can import. */
  readonly isHere?: true;
  /** To be called once the location is not used any more. Deletes the compiled file, unless other loads use it. */
  dispose(): Promise<void>;
}

/** A driver that the embedding program has as an object. */
export function inThisThread(driver: Driver): FoundDriver {
  return { driver, location: { name: driver.name }, isHere: true, dispose: async () => {} };
}

/**
 * Finds a driver by name, or by the path of a user's own file (`./my-driver.ts`);
 * throws `invalid_argument` for an unknown one.
 */
export async function findDriver(name: string): Promise<FoundDriver> {
  if (isDriverFile(name)) return compileDriver(name);
  if (Object.hasOwn(DRIVERS, name)) return builtIn(name);
  throw invalidArgument(
    `There is no driver "${name}".${didYouMean(name, DRIVER_NAMES)} This version has ${DRIVER_NAMES.join(", ")}, and takes the path of your own (./my-driver.ts).`,
  );
}

/**
 * Names in the order in which drivers are asked for a path: first those that know
 * theirs by the ending, without other drivers' code, and last MLflow's, whose folders may be another's too.
 */
const ASKED = [...new Set(["onnx", "openvino", ...DRIVER_NAMES.filter((name) => name !== "mlflow"), "mlflow"])];

/** Finds the driver for a path; throws `failed_precondition` when there is none. */
export async function detectDriver(path: string): Promise<FoundDriver> {
  for (const name of ASKED) {
    const found = await builtIn(name);
    if (found.driver.detect?.(path)) return found;
  }
  throw await unrecognised(path);
}

async function unrecognised(path: string): Promise<ServingError> {
  const names = DRIVER_NAMES.join(", ");
  const missing = missingAt(path);
  if (missing !== undefined)
    return failedPrecondition(
      `There is no ${path}, and no driver recognises its name; expected a model's path, or --driver (${names}).`,
      missing,
    );
  if (isEmptyFolder(path))
    return failedPrecondition(
      `The folder "${path}" is empty; expected a model's file, or a folder with a model in it.`,
    );
  const inside = folderContents(await modelsIn(path), ", which --model-path may name");
  const known = pathHint(path);
  if (known !== "") return failedPrecondition(`No driver recognises ${path} by its name.${known}`, inside);
  return failedPrecondition(
    `No driver recognises ${path} by its name; say which one with --driver (${names}).`,
    inside,
  );
}

/** The file system's error about a path at which there is nothing. */
function missingAt(path: string): unknown {
  try {
    statSync(path);
    return undefined;
  } catch (cause) {
    return cause;
  }
}

function isEmptyFolder(path: string): boolean {
  return statSync(path).isDirectory() && readdirSync(path).length === 0;
}

/** The files of a folder that a driver recognises. */
async function modelsIn(path: string): Promise<string[]> {
  if (!statSync(path).isDirectory()) return [];
  const drivers = await Promise.all(DRIVER_NAMES.map(builtIn));
  const files = readdirSync(path).sort();
  const isModel = (file: string) => drivers.some(({ driver }) => driver.detect?.(join(path, file)));
  return files.filter(isModel).map((file) => join(path, file));
}

async function builtIn(name: string): Promise<FoundDriver> {
  const location = { name };
  return { driver: await importDriver(location), location, dispose: async () => {} };
}

async function importFramework(name: string): Promise<{ default: Driver }> {
  const { frameworkDriver } = await import("./python/load-python-model.ts");
  return { default: frameworkDriver(name) };
}

/** Users' drivers that threads run, by their code: what a thread has once imported stays in its memory. */
const described = new Map<string, Driver>();
/** Compiled files of such drivers, by their code, while loads hold them: threads know drivers by their location. */
const compiled = new Map<string, CompiledDriver>();

async function compileDriver(file: string): Promise<FoundDriver> {
  const { url, hash, dispose } = await compileUserModule(file);
  const code = `${hash} ${file}`;
  const held = compiled.get(code);
  if (held !== undefined) {
    await dispose();
    return held.take();
  }
  const location = { url, file };
  try {
    const driver = described.get(code) ?? (await importDriver(location));
    // One that this thread runs has its own module for each model.
    if (driver.placement === "inline") return { driver, location, dispose };
    described.set(code, driver);
    return new CompiledDriver(code, { driver, location, dispose }).take();
  } catch (reason) {
    await dispose();
    throw reason;
  }
}

/** A driver whose compiled file several loads share. */
class CompiledDriver {
  readonly #code: string;
  readonly #found: FoundDriver;
  #holders = 0;

  constructor(code: string, found: FoundDriver) {
    this.#code = code;
    this.#found = found;
    compiled.set(code, this);
  }

  take(): FoundDriver {
    this.#holders++;
    let isHeld = true;
    const dispose = async () => {
      if (!isHeld) return;
      isHeld = false;
      if (--this.#holders > 0) return;
      if (compiled.get(this.#code) === this) compiled.delete(this.#code);
      await this.#found.dispose();
    };
    return { ...this.#found, dispose };
  }
}

export function isDriverFile(name: string): boolean {
  return /[/\\]/.test(name) || /^\.[cm]?[jt]s$/.test(extname(name));
}

/** Imports a driver from where it was found; throws `failed_precondition` for a file that has none. */
export async function importDriver(location: DriverLocation): Promise<Driver> {
  if ("name" in location) return (await (DRIVERS[location.name] as () => Promise<{ default: Driver }>)()).default;
  const { file: path, url } = location;
  const { default: driver } = await importCompiled(url, path);
  if (isDriver(driver)) return driver;
  throw failedPrecondition(
    `${path} has no driver as its default export; expected defineDriver({ name, options, load }).`,
  );
}

/** Checks that a value has what every driver has. */
export function isDriver(value: unknown): value is Driver {
  if (typeof value !== "object" || value === null) return false;
  const { name, options, load } = value as Partial<Driver>;
  return typeof name === "string" && typeof options === "object" && typeof load === "function";
}
