import type { Driver } from "../../drivers/driver.ts";
import type { RawOptions } from "../../drivers/option-table.ts";
import { invalidArgument } from "../../errors.ts";
import { claimPath } from "../../storage/local-name.ts";

/** One stage as a user names it. */
export interface StageOptions {
  /**
   * The name of another model of this server, instead of all other members: its requests use that model's own hooks,
   * queue and batches.
   */
  readonly model?: string;
  /**
   * The version of that model, which an ensemble of Triton's may name; absent = the highest available one at that time.
   */
  readonly version?: number;
  /**
   * A driver's name, the path of a user's own, or a driver as it is, whose model runs in the main thread; absent =
   * derived from the path.
   */
  readonly driver?: string | Driver;
  /** A file or folder; absent for drivers that need none. */
  readonly path?: string;
  /** `-o` options for this stage alone; they override the shared ones. */
  readonly options?: RawOptions;
}

/** Names of the models of this server that are stages, without repetition. */
export function neededModels({ stages = [] }: { readonly stages?: readonly StageOptions[] }): readonly string[] {
  return [...new Set(stages.flatMap(({ model }) => model ?? []))];
}

/** A `--driver` or `--model-path` flag of the command line. */
export interface ModelFlag {
  readonly flag: "driver" | "model-path";
  readonly value: string;
}

/**
 * Pairs drivers with paths. Equal numbers are paired in order, and without drivers each path is a stage. Otherwise a
 * path belongs to the driver before it, and `null` needs none. Throws `invalid_argument` with the unpaired flags.
 */
export function pairModels(flags: readonly ModelFlag[]): StageOptions[] {
  const drivers = flags.filter(({ flag }) => flag === "driver").map(({ value }) => value);
  const paths = flags.filter(({ flag }) => flag === "model-path").map(({ value }) => claimPath(value));
  if (drivers.length === 0 && paths.length === 0) {
    throw invalidArgument(
      "No model is given; expected its path, such as kserving model.onnx, a hook file, a folder of models, or --config FILE. kserving --help has examples.",
    );
  }
  if (drivers.length === 0) return paths.map((path) => ({ path }));
  if (drivers.length === paths.length) return drivers.map((driver, index) => ({ driver, path: paths[index]! }));
  if (paths.length > drivers.length) {
    throw invalidArgument(
      `--model-path is given ${times(paths.length)}, --driver ${times(drivers.length)}; give each path its driver, or leave out all drivers.`,
    );
  }
  return pairFewerPaths(drivers, paths);
}

/** Assigns the paths, in order, to the drivers that need one. */
function pairFewerPaths(drivers: readonly string[], paths: readonly string[]): StageOptions[] {
  // A driver without its path is reported when it is chosen.
  if (paths.length === 0) return drivers.map((driver) => ({ driver }));
  const rest = [...paths];
  const needing = drivers.filter((driver) => driver !== "null").length;
  if (needing !== paths.length) {
    throw invalidArgument(
      `--driver is given ${times(drivers.length)} and needs ${needing} paths (only null does without), but --model-path is given ${times(paths.length)}.`,
    );
  }
  return drivers.map((driver) => (driver === "null" ? { driver } : { driver, path: rest.shift()! }));
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
