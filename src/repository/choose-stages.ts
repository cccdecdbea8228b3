import type { RawOptions } from "../drivers/option-table.ts";
import { detectDriver, type FoundDriver, findDriver } from "../drivers/registry.ts";
import { ServingError } from "../errors.ts";

/** One stage as a user names it. */
export interface ModelOptions {
  /** A driver's name or the path of a user's own; left out = told by the path. */
  readonly driver?: string;
  /** A file or folder; left out for drivers that need none. */
  readonly path?: string;
  /** `-o` options for this stage alone; they win over the shared ones. */
  readonly options?: RawOptions;
}

/** One stage whose driver is found. */
export interface Stage {
  readonly found: FoundDriver;
  /** Empty for a driver that needs none. */
  readonly path: string;
  readonly options: RawOptions;
}

/** Finds the driver of a stage; throws `invalid_argument` for a missing path, `failed_precondition` for an unknown driver. */
export async function chooseStage({ driver: name, path = "", options = {} }: ModelOptions): Promise<Stage> {
  const found = name === undefined ? await detectDriver(path) : await findDriver(name);
  const { driver } = found;
  if (path === "" && !driver.pathless) {
    await found.dispose();
    throw new ServingError(
      "invalid_argument",
      `The ${driver.name} driver needs a model; expected --model-path PATH with it.`,
    );
  }
  return { found, path, options };
}
