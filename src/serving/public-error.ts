import { ServingError } from "../errors.ts";
import { hidePaths } from "../text/hide-paths.ts";

/** Characters of an error's text that clients are told at most. */
const MAX_TEXT = 1024;

/** The error as clients may see it, who need not know where files lie. */
export function publicError(error: ServingError): ServingError {
  return new ServingError(error.code, hidePaths(error.message.slice(0, MAX_TEXT)), { cause: error });
}
