import { readdirSync } from "node:fs";
import { invalidArgument } from "../../errors.ts";
import { readProblem } from "../../text/read-problem.ts";

/**
 * Throws `invalid_argument` for a folder with something in it, or one that cannot be
 * read; `name` is its path as it was given.
 */
export function assertEmptyFolder(folder: string, name: string): void {
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
      `The folder "${name}" has ${entries.slice(0, 3).join(", ")} in it; expected one that is empty or not there.`,
    );
}
