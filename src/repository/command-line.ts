import { invalidArgument } from "../errors.ts";
import { claimPath } from "../storage/local-name.ts";
import type { StageOptions } from "./stage.ts";

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
  if (drivers.length === paths.length)
    return drivers.map((driver, index) => ({ driver, path: paths[index] as string }));
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
  return drivers.map((driver) => (driver === "null" ? { driver } : { driver, path: rest.shift() as string }));
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
