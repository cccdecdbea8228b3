import { randomUUID } from "node:crypto";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { moveStage, SOURCE, type StageClaim } from "./stage-claim.ts";

/** Time without a change after which a download is not expected to go on, in milliseconds. */
const OLD_MS = 24 * 60 * 60 * 1000;

/**
 * Removes what ended downloads have left: those from the same source, whose files have been replaced, and those a day
 * old. What a running process has claimed stays.
 */
export async function removeAbandonedStages(parent: string, own: StageClaim): Promise<void> {
  for (const name of await readdir(parent)) {
    const folder = join(parent, name);
    if (folder === own.folder) continue;
    const isOld = Date.now() - (await lastChangeMs(folder)) > OLD_MS;
    if (!isOld && (await sourceOf(folder)) !== own.source) continue;
    const old = join(parent, `old+${name}+${randomUUID()}`);
    if (await moveStage(folder, old, isOld)) await rm(old, { recursive: true, force: true });
  }
}

async function sourceOf(folder: string): Promise<string | undefined> {
  return readFile(join(folder, SOURCE), "utf8").catch(() => undefined);
}

/** Of a folder that another process is removing it is now. */
async function lastChangeMs(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  let last = 0;
  for (const name of ["", ...names])
    last = Math.max(last, await stat(join(folder, name)).then(({ ctimeMs }) => ctimeMs, Date.now));
  return last;
}
