import { readdirSync, writeFileSync } from "node:fs";
import { invalidArgument } from "../../errors.ts";
import { outputProblem, readProblem } from "../../platform/text/file-problem.ts";

/** Writes the file of `--out`; throws `invalid_argument` if it cannot be written. */
export function writeOut(path: string, content: string | Uint8Array): void {
  try {
    writeFileSync(path, content);
  } catch (cause) {
    throw invalidArgument(`--out "${path}" ${outputProblem(cause)}; expected a file that can be written.`, cause);
  }
}

/**
 * Throws `invalid_argument` for a folder that has files or cannot be read; `name` is its path as it was given, and
 * `command` takes another one.
 */
export function assertEmptyFolder(folder: string, name: string, command?: string): void {
  let entries: readonly string[] = [];
  try {
    entries = readdirSync(folder);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return;
    throw invalidArgument(
      `The folder "${name}" ${readProblem(cause)}; expected one that is empty or not there.`,
      cause,
    );
  }
  if (entries.length > 0)
    throw invalidArgument(
      `The folder "${name}" has ${entries.slice(0, 3).join(", ")} in it; expected one that is empty or not there${command === undefined ? "" : `: ${command}`}.`,
    );
}
