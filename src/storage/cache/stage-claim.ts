import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

/** A folder in which one process gathers the files of a download. */
export interface StageClaim {
  readonly path: string;
  /** Lets another process go on with what is there. */
  release(): Promise<void>;
}

const OWNER = "owner";

/**
 * Claims the folder of that name, in which an ended process may have left part of a download. Where a running process
 * has it, another folder is made, that starts from nothing.
 */
export async function claimStage(parent: string, name: string): Promise<StageClaim> {
  for (const suffix of ["", `+${encodeURIComponent(hostname())}+${process.pid}`]) {
    const folder = join(parent, `${name}${suffix}`);
    await mkdir(folder, { recursive: true });
    if (await claim(join(folder, OWNER))) {
      const path = join(folder, "files");
      await mkdir(path, { recursive: true });
      return { path, release: () => rm(join(folder, OWNER), { force: true }) };
    }
  }
  throw new Error(`${name} is claimed twice by one process`);
}

async function claim(file: string): Promise<boolean> {
  const own = JSON.stringify({ host: hostname(), pid: process.pid });
  try {
    await writeFile(file, own, { flag: "wx" });
    return true;
  } catch {
    if (!(await isAbandoned(file))) return false;
    await writeFile(file, own);
    return true;
  }
}

/** A process of another machine cannot be asked. */
async function isAbandoned(file: string): Promise<boolean> {
  try {
    const { host, pid } = JSON.parse(await readFile(file, "utf8")) as { host: string; pid: number };
    if (host !== hostname()) return false;
    if (pid === process.pid) return true;
    process.kill(pid, 0);
    return false;
  } catch (reason) {
    return (reason as NodeJS.ErrnoException).code !== "EPERM";
  }
}
