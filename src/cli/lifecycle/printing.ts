import { failedPrecondition } from "../../errors.ts";
import { outputProblem } from "../../platform/text/file-problem.ts";

/**
 * Runs a command that prints. A reader that has left, such as `head`, has what it wanted. Throws `failed_precondition`
 * where standard output cannot be written for another reason: what is printed may be all that was wanted.
 */
export async function printing<Result>(run: () => Promise<Result>): Promise<Result> {
  for (const stream of [process.stdout, process.stderr])
    if (!stream.listeners("error").includes(ignore)) stream.on("error", ignore);
  const result = await run();
  const { errored } = process.stdout;
  if (errored === null || errored === undefined || isReaderGone(errored)) return result;
  throw failedPrecondition(`The output ${outputProblem(errored)}; expected a place that takes all of it.`, errored);
}

/** The stream keeps its first error. */
function ignore(): void {}

function isReaderGone({ code }: NodeJS.ErrnoException): boolean {
  return code === "EPIPE";
}
