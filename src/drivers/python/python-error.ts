import { ServingError } from "../../errors.ts";
import { hidePaths } from "../../text/hide-paths.ts";

/** An error as Python answers it: with a code of {@link ServingError}, and the traceback as its detail. */
export interface PythonError {
  readonly code: string;
  readonly message: string;
  readonly detail: string | null;
}

/** Longer texts are useless for a client, and searching for paths takes time. */
const MAX_MESSAGE = 4096;

/**
 * Python's error as one of ours; without paths for a client, while the user who loads
 * a model or a hook file may see them.
 */
export function fromPythonError({ code, message, detail }: PythonError, isForClient: boolean): ServingError {
  const short = message.slice(0, MAX_MESSAGE);
  const text = isForClient ? hidePaths(short) : short;
  return new ServingError(code as ServingError["code"], text, detail === null ? {} : { cause: tracebackOf(detail) });
}

/** An error whose stack is Python's alone. */
function tracebackOf(detail: string): Error {
  return Object.assign(new Error(detail), { stack: detail });
}
