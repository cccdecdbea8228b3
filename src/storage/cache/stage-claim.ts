import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { systemCode } from "../../errors.ts";

/** A folder in which one process gathers the files of a download. */
export interface StageClaim {
  readonly folder: string;
  /** Gets the files. */
  readonly path: string;
  /** The address of the files. */
  readonly source: string;
  /** Lets another process go on with the files. */
  release(): Promise<void>;
}

const OWNER = "owner";
/** The name of the file that says what the others come from. */
export const SOURCE = "source";

/** Files by which this process has claimed a folder: its number may have been that of an ended one. */
const owned = new Set<string>();

/**
 * Claims the folder of that name, in which an ended process may have left part of a download. If a running process
 * has it, another folder is made, that starts from nothing.
 */
export async function claimStage(parent: string, name: string, source: string): Promise<StageClaim> {
  for (const suffix of ["", `+${encodeURIComponent(hostname())}+${process.pid}`]) {
    const folder = join(parent, `${name}${suffix}`);
    await mkdir(folder, { recursive: true });
    const owner = join(folder, OWNER);
    if (await claim(owner)) {
      const path = join(folder, "files");
      await mkdir(path, { recursive: true });
      await writeFile(join(folder, SOURCE), source);
      return { folder, path, source, release: () => release(owner) };
    }
  }
  throw new Error(`${name} is claimed twice by one process`);
}

/**
 * Moves such a folder away, unless a running process has claimed it; one of another machine counts as ended if
 * `isOld`. False if the folder has stayed.
 */
export async function moveStage(folder: string, target: string, isOld: boolean): Promise<boolean> {
  const owner = join(folder, OWNER);
  if (!(await claim(owner, isOld).catch(() => false))) return false;
  try {
    await rename(folder, target);
    owned.delete(owner);
    return true;
  } catch {
    await release(owner);
    return false;
  }
}

async function claim(file: string, isOld = false): Promise<boolean> {
  const own = JSON.stringify({ host: hostname(), pid: process.pid });
  try {
    await writeFile(file, own, { flag: "wx" });
  } catch {
    if (!(await isAbandoned(file, isOld))) return false;
    await writeFile(file, own);
  }
  owned.add(file);
  return true;
}

async function release(file: string): Promise<void> {
  await rm(file, { force: true });
  owned.delete(file);
}

/** A process of another machine cannot be asked. */
async function isAbandoned(file: string, isOld: boolean): Promise<boolean> {
  try {
    const { host, pid } = JSON.parse(await readFile(file, "utf8")) as { host: string; pid: number };
    if (host !== hostname()) return isOld;
    if (pid === process.pid) return !owned.has(file);
    process.kill(pid, 0);
    return false;
  } catch (reason) {
    return systemCode(reason) !== "EPERM";
  }
}
