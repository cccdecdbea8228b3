import { basename, extname } from "node:path";
import { ServingError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { importUserModule } from "../user-module.ts";
import type { Driver } from "./driver.ts";

/** Every driver by name. Adding one is one line here. */
const DRIVERS: Readonly<Record<string, () => Promise<{ default: Driver }>>> = {
  null: () => import("./null.ts") as Promise<{ default: Driver }>,
  onnx: () => import("./onnx/onnx.ts") as Promise<{ default: Driver }>,
};

/** Formats that are recognised although this version has no driver for them, so that the error can say which one is meant. */
const OTHER_FORMATS: readonly { readonly pattern: RegExp; readonly driver: string }[] = [
  { pattern: /\.xml$/, driver: "openvino" },
  { pattern: /(\.pb|^model\.json|\.tflite|\.h5|\.keras)$/, driver: "tensorflow" },
  { pattern: /\.(pt|pth|pt2)$/, driver: "pytorch" },
];

/** The names that `--driver` takes, beside a path to a user's own driver file. */
export const DRIVER_NAMES: readonly string[] = Object.keys(DRIVERS);

/** Finds a driver by name, or by the path of a user's own file (`./my-driver.ts`); throws `failed_precondition` for an unknown one. */
export async function findDriver(name: string): Promise<Driver> {
  if (isDriverFile(name)) return loadDriverFile(name);
  const load = Object.hasOwn(DRIVERS, name) ? DRIVERS[name] : undefined;
  if (load !== undefined) return (await load()).default;
  const known = `It has ${DRIVER_NAMES.join(", ")}, and takes the path of your own (./my-driver.ts).`;
  if (OTHER_FORMATS.some(({ driver }) => driver === name)) {
    throw new ServingError("failed_precondition", `This version has no "${name}" driver. ${known}`);
  }
  throw new ServingError(
    "failed_precondition",
    `There is no driver "${name}".${didYouMean(name, DRIVER_NAMES)} This version has ${known.slice("It has ".length)}`,
  );
}

/** Finds the driver that says it loads a path; throws `failed_precondition` when none does. */
export async function detectDriver(path: string): Promise<Driver> {
  for (const load of Object.values(DRIVERS)) {
    const driver = (await load()).default;
    if (driver.detect?.(path)) return driver;
  }
  const format = OTHER_FORMATS.find(({ pattern }) => pattern.test(basename(path)));
  if (format !== undefined) return findDriver(format.driver);
  throw new ServingError(
    "failed_precondition",
    `No driver recognises ${path} by its name; say which one with --driver (${DRIVER_NAMES.join(", ")}).`,
  );
}

function isDriverFile(name: string): boolean {
  return /[/\\]/.test(name) || /^\.[cm]?[jt]s$/.test(extname(name));
}

async function loadDriverFile(path: string): Promise<Driver> {
  const { default: driver } = await importUserModule(path);
  if (isDriver(driver)) return driver;
  throw new ServingError(
    "failed_precondition",
    `${path} has no driver as its default export; expected defineDriver({ name, options, load }).`,
  );
}

function isDriver(value: unknown): value is Driver {
  if (typeof value !== "object" || value === null) return false;
  const { name, options, load } = value as Partial<Driver>;
  return typeof name === "string" && typeof options === "object" && typeof load === "function";
}
