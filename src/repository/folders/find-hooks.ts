import { stat } from "node:fs/promises";
import { join } from "node:path";

const NAMES = ["hooks.ts", "hooks.js", "hooks.mjs", "hooks.py"];

/** The hook file in a version's folder, which overrides the model's; undefined where there is none. */
export async function findHooks(folder: string): Promise<string | undefined> {
  if (folder === "") return undefined;
  for (const name of NAMES) {
    const path = join(folder, name);
    if (await isFile(path)) return path;
  }
  return undefined;
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
