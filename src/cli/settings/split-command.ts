/**
 * A command line's words, the program first, split as a shell does, with single and double quotes and no other magic;
 * undefined for an open quote or no program.
 */
export function splitCommand(commandLine: string): readonly [string, ...string[]] | undefined {
  if (commandLine.replace(/"[^"]*"|'[^']*'/g, "").match(/["']/)) return undefined;
  const words = commandLine.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  const [program, ...rest] = words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
  return program === undefined || program === "" ? undefined : [program, ...rest];
}
