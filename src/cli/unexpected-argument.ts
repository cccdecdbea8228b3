import { ServingError } from "../errors.ts";
import { didYouMean } from "../text/nearest.ts";
import { COMMAND_NAMES } from "./command-names.ts";

/**
 * The error for a word that is neither a flag nor a path, and cannot stand where it
 * does; `isFirst` = where a command may.
 */
export function unexpectedArgument(word: string, isFirst: boolean): ServingError {
  const isCommandName = COMMAND_NAMES.some((name) => name === word);
  const isMeantAsCommand = isFirst && !isCommandName && !/[./\\]/.test(word);
  const what = isMeantAsCommand
    ? `There is no command "${word}".${didYouMean(word, COMMAND_NAMES)} Expected one of ${COMMAND_NAMES.join(", ")}`
    : `Unexpected argument "${word}"; a command comes first (${COMMAND_NAMES.join(", ")})`;
  return new ServingError("invalid_argument", `${what}; a model is the path of a file or folder.`);
}
