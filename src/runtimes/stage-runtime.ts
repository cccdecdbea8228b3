import { join } from "node:path";
import { failedPrecondition } from "../errors.ts";
import type { InstalledRuntime } from "./runtimes-folder.ts";
import { stageFolder } from "./staging.ts";

/** The outcome of an installation. */
export interface Installation {
  readonly runtime: InstalledRuntime;
  /** False where the version was there before, and nothing was done. */
  readonly isNew: boolean;
}

/** A runtime that is about to be installed. */
interface StagedRuntime {
  /** The runtimes folder. */
  readonly root: string;
  /** Replaces an installation of the same version. */
  readonly force: boolean;
  /** Fills a folder with the runtime and returns its version; the scratch folder is deleted. */
  fill(folder: string, scratch: string): Promise<string>;
  /** The complete installation of a version; undefined where there is none. */
  find(version: string): InstalledRuntime | undefined;
}

/**
 * Installs a runtime in its folder, completely or not at all. Throws `failed_precondition` where an incomplete one is
 * in the way.
 */
export async function stageRuntime(name: string, { root, force, fill, find }: StagedRuntime): Promise<Installation> {
  const parent = join(root, name);
  let version = "";
  const fillNoting = async (folder: string, scratch: string) => {
    version = await fill(folder, scratch);
    return version;
  };
  const isNew = await stageFolder({ parent, fill: fillNoting, replace: force });
  const runtime = find(version);
  if (runtime !== undefined) return { runtime, isNew };
  throw failedPrecondition(`${join(parent, version)} is there but no complete runtime; delete it, or use --force.`);
}
