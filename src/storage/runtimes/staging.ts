import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { failedPrecondition, invalidArgument, ServingError, systemCode } from "../../errors.ts";
import { type InstalledRuntime, installedRuntimes, toDiskError } from "./runtimes-folder.ts";

/** The outcome of an installation. */
export interface Installation {
  readonly runtime: InstalledRuntime;
  /** False if the version was there before, and nothing was done. */
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
  /** The complete installation of a version; undefined if there is none. */
  find(version: string): InstalledRuntime | undefined;
}

/**
 * Installs a runtime in its folder, completely or not at all. Throws `failed_precondition` if an incomplete one is
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

/** A folder that is made complete or not at all. */
interface StagedFolder {
  /** The parent of the folder; made if it does not exist. */
  readonly parent: string;
  /** Fills a private folder, and returns its final name. Files in the scratch folder are deleted. */
  fill(folder: string, scratch: string): Promise<string>;
  /** Replaces a folder of that name; else it stays. */
  readonly replace: boolean;
}

/**
 * Makes a folder, complete or not at all: it is filled next to its place, under a name that begins with a dot, and then
 * renamed. Resolves with false if a folder of that name exists and stays: another process may have been faster.
 * Throws disk errors with advice.
 */
export async function stageFolder({ parent, fill, replace }: StagedFolder): Promise<boolean> {
  const staging = join(parent, stagingName());
  try {
    const [content, scratch] = await makeFolders(staging, ["new", "scratch"] as const);
    await sweep(parent);
    const target = join(parent, await fill(content, scratch));
    if (replace) await moveAway(target, join(staging, "old"));
    return await moveIn(content, target);
  } catch (reason) {
    throw toDiskError(reason, parent);
  } finally {
    // The same reason caused the earlier error, which has been reported.
    await rm(staging, { recursive: true, force: true }).catch(() => {});
  }
}

async function makeFolders(parent: string, names: readonly [string, string]): Promise<[string, string]> {
  const folders = names.map((name) => join(parent, name)) as [string, string];
  for (const folder of folders) await mkdir(folder, { recursive: true });
  return folders;
}

/**
 * A name for a temporary folder with the id of its process, so that the remains of a killed process can be recognised.
 * It is random, since containers that share a folder may have the same host name and process id.
 */
export function stagingName(): string {
  return `.${encodeURIComponent(hostname())}+${process.pid}+${randomUUID()}`;
}

/** Deletes the temporary folders of ended processes of this machine. */
async function sweep(parent: string): Promise<void> {
  const [ownHost] = stagingName().split("+");
  for (const name of await readdir(parent)) {
    const [host, pid] = name.split("+");
    if (pid === undefined || host !== ownHost || isAlive(Number(pid))) continue;
    await rm(join(parent, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (reason) {
    return systemCode(reason) === "EPERM";
  }
}

async function moveAway(from: string, to: string): Promise<void> {
  await rename(from, to).catch((reason: NodeJS.ErrnoException) => {
    if (reason.code !== "ENOENT") throw reason;
  });
}

/** Errors of renaming onto a folder that is not empty, by system. */
const IS_THERE = ["ENOTEMPTY", "EEXIST", "EPERM"];

async function moveIn(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (reason) {
    if (IS_THERE.includes(systemCode(reason))) return false;
    throw reason;
  }
}

/** An installation to be removed. */
interface Removal {
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
