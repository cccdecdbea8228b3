import { ServingError } from "../../errors.ts";

/** Splits a command line into words as a shell does, with single and double quotes and no other magic. Throws `invalid_argument` for an open quote or no word. */
export function splitCommand(commandLine: string): readonly [string, ...string[]] {
  if (commandLine.replace(/"[^"]*"|'[^']*'/g, "").match(/["']/)) {
    throw new ServingError("invalid_argument", `The command ${commandLine} has a quote that is not closed.`);
  }
  const words = commandLine.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  const [program, ...rest] = words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
  if (program === undefined || program === "") {
    throw new ServingError(
      "invalid_argument",
      "--http-server-command is empty; expected a program with its arguments.",
    );
  }
  return [program, ...rest];
}
