import { changeTexts } from "../error-info.ts";
import type { ServingError } from "../errors.ts";
import { hideFolders } from "../platform/text/hide-paths.ts";

/** Maximum length of an error's text for clients, in characters. */
const MAX_TEXT = 1024;

/** The error as clients may see it: of the server's paths, the names of files alone. */
export function publicError(error: ServingError): ServingError {
  return changeTexts(error, (text) => hideFolders(text.slice(0, MAX_TEXT)));
}
