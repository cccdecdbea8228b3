import { listFolder } from "./list-folder.ts";

const NAMES = ["hooks.ts", "hooks.js", "hooks.mjs", "hooks.py"];

/** The hook file in a version's folder, which overrides the model's; undefined where there is none. */
export async function findHooks(folder: string): Promise<string | undefined> {
  if (folder === "") return undefined;
  // A version may be a file, or gone; its load says so.
  const entries = await listFolder(folder).catch(() => []);
  for (const name of NAMES) {
    const found = entries.find((entry) => entry.name === name && entry.kind === "file");
    if (found !== undefined) return found.path;
  }
  return undefined;
}
