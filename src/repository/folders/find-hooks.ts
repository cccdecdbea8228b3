import { listFolder } from "./list-folder.ts";

const NAMES = ["hooks.ts", "hooks.js", "hooks.mjs", "hooks.py"];

/** The hook file in a version's folder, which overrides the model's; undefined where there is none. */
export async function findHooks(folder: string): Promise<string | undefined> {
  if (folder === "") return undefined;
  const entries = await listFolder(folder).catch(unlessForNow);
  for (const name of NAMES) {
    const found = entries.find((entry) => entry.name === name && entry.kind === "file");
    if (found !== undefined) return found.path;
  }
  return undefined;
}

/** Errors that pass: without its hooks, a version would answer wrongly until the next check. */
const PASSING = ["EMFILE", "ENFILE", "ENOMEM", "EIO", "ESTALE"];

/** A version may be a file, or gone; its load says so. */
function unlessForNow(reason: Error): [] {
  const { code = "" } = (reason.cause ?? {}) as { code?: string };
  if (PASSING.includes(code)) throw reason;
  return [];
}
