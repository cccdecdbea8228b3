import { invalidArgument, type ServingError } from "../errors.ts";
import { didYouMean } from "../platform/text/nearest.ts";
import { COMMAND_NAMES } from "./command-names.ts";

const SERVE = "kserving MODEL serves a model, kserving infer MODEL runs it once";
const LIST = "kserving client http://HOST:PORT --json shows the models of a server";
/** Commands of other programs, with what they are called here. */
const OTHER_VERBS: Readonly<Record<string, string>> = {
  ...{ run: SERVE, start: SERVE, up: SERVE, predict: SERVE, list: LIST, ls: LIST, ps: LIST, models: LIST },
  show: "kserving inspect MODEL shows a model",
  create: "kserving new project writes a folder to begin with",
  init: "kserving new project writes a folder to begin with",
  build: "kserving export docker writes a Dockerfile",
  pull: "kserving takes the address of a model in place of its path",
  stop: "SIGTERM or Ctrl-C ends a server",
  version: "kserving --version prints it",
};

/**
 * The error for a word that is neither a flag nor a path, and cannot stand where it
 * does; `isFirst` = where a command may.
 */
export function unexpectedArgument(word: string, isFirst: boolean): ServingError {
  const isCommandName = COMMAND_NAMES.some((name) => name === word);
  const isMeantAsCommand = isFirst && !isCommandName && !/[./\\]/.test(word);
  const meant = Object.hasOwn(OTHER_VERBS, word) ? ` ${OTHER_VERBS[word]}.` : didYouMean(word, COMMAND_NAMES);
  const what = isMeantAsCommand
    ? `There is no command "${word}".${meant} Expected one of ${COMMAND_NAMES.join(", ")}`
    : `Unexpected argument "${word}"; a command comes first (${COMMAND_NAMES.join(", ")})`;
  return invalidArgument(`${what}; a model is the path of a file or folder.`);
}
