import { writeFileSync } from "node:fs";
import { invalidArgument } from "../../../errors.ts";
import { outputProblem } from "../../../text/output-problem.ts";

/** Writes the file of `--out`; throws `invalid_argument` where it cannot be written. */
export function writeOut(path: string, content: string | Uint8Array): void {
  try {
    writeFileSync(path, content);
  } catch (cause) {
    throw invalidArgument(`--out "${path}" ${outputProblem(cause)}; expected a file that can be written.`, cause);
  }
}
