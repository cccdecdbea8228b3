import { ServingError } from "../errors.ts";
import { hidePaths } from "../platform/text/hide-paths.ts";

/** Maximum length of an error's text for clients, in characters. */
const MAX_TEXT = 1024;

/** The error as clients may see it, without the server's paths. */
export function publicError(error: ServingError): ServingError {
  return new ServingError(error.code, hidePaths(error.message.slice(0, MAX_TEXT)), { cause: error });
}
