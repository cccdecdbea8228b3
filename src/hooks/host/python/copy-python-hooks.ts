import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { failedPrecondition } from "../../../errors.ts";
import { readProblem } from "../../../platform/text/file-problem.ts";
import { createScratchFile } from "../../../platform/user-module/scratch-file.ts";
import type { CompiledModule } from "../../../platform/user-module/user-module.ts";

/** True for the hook files that run in Python. */
export function isPythonFile(file: string): boolean {
  return file.endsWith(".py");
}

/** The `-o` keys that say how Python hooks run. */
export const PYTHON_HOOK_OPTIONS = ["python", "import_path", "requirements"] as const;

/** Copies a hook file, so that a process that replaces another runs the same text, whatever the file has become. */
export async function copyPythonHooks(file: string): Promise<CompiledModule> {
  const copy = createScratchFile("hooks.py", await read(file));
  return { url: pathToFileURL(copy.path).href, sources: [resolve(file)], dispose: async () => copy.remove() };
}

async function read(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (reason) {
    throw failedPrecondition(`${file} ${readProblem(reason)}; expected a Python file with hooks.`, reason);
  }
}
