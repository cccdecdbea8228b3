import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { toDiskError } from "./disk.ts";

/** A folder that is made complete or not at all. */
export interface StagedFolder {
  /** The parent of the folder; made where it does not exist. */
  readonly parent: string;
  /** Fills a private folder, and returns its final name. Files in the scratch folder are deleted. */
  fill(folder: string, scratch: string): Promise<string>;
  /** Replaces a folder of that name; else it stays. */
  readonly replace: boolean;
}

/**
 * Makes a folder, complete or not at all: it is filled next to its place, under a name that begins with a dot, and then
 * renamed. Resolves with false where a folder of that name exists and stays: another process may have been faster.
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
    return (reason as NodeJS.ErrnoException).code === "EPERM";
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
    if (IS_THERE.includes((reason as NodeJS.ErrnoException).code ?? "")) return false;
    throw reason;
  }
}
