import { mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { invalidArgument, ServingError } from "../errors.ts";
import { toDiskError } from "./disk.ts";
import { type InstalledRuntime, installedRuntimes } from "./runtimes-folder.ts";
import { stagingName } from "./staging.ts";

/** An installation to be removed. */
export interface Removal {
  readonly name: string;
  /** Default: the only installed one. */
  readonly version?: string | undefined;
  /** The runtimes folder. */
  readonly root: string;
}

/**
 * Removes an installed runtime, completely or not at all; a folder registered with --path is kept. Throws `not_found`
 * and `invalid_argument` with the installed ones.
 */
export async function removeRuntime({ name, version, root }: Removal): Promise<InstalledRuntime> {
  const chosen = choose(installedRuntimes(name, root), { name, version, root });
  const parent = dirname(chosen.home);
  const away = join(parent, stagingName());
  try {
    await mkdir(away);
    await rename(chosen.home, join(away, "old"));
  } catch (reason) {
    throw toDiskError(reason, parent);
  } finally {
    await rm(away, { recursive: true, force: true });
  }
  return chosen;
}

function choose(installed: readonly InstalledRuntime[], { name, version, root }: Removal): InstalledRuntime {
  const [only, ...others] = installed;
  const versions = installed.map((each) => each.version).join(", ");
  if (only === undefined) throw new ServingError("not_found", `No ${name} is installed in ${root}.`);
  if (version === undefined && others.length === 0) return only;
  if (version === undefined) {
    const message = `There are several versions of ${name}: ${versions}. Say which one: kserving runtimes remove ${name} VERSION`;
    throw invalidArgument(message);
  }
  const chosen = installed.find((each) => each.version === version);
  if (chosen !== undefined) return chosen;
  throw new ServingError("not_found", `${name} ${version} is not installed in ${root}; there is ${versions}.`);
}
