import { bashCompletion } from "../completion/bash-completion.ts";
import { toCompletions } from "../completion/completions.ts";
import { fishCompletion } from "../completion/fish-completion.ts";
import { zshCompletion } from "../completion/zsh-completion.ts";
import { createCompletionCommand, type Shell } from "./create-completion-command.ts";
import { runParser } from "./create-parser.ts";
import { allParsers } from "./parsers.ts";

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } satisfies Readonly<
  Record<Shell, unknown>
>;

/** `kserving completion`: prints a script by which a shell completes command lines. */
export function completion(argv: readonly string[]): Promise<void> {
  return runParser(createCompletionCommand().action(run), argv);
}

async function run(shell: Shell): Promise<void> {
  process.stdout.write(SHELLS[shell]("kserving", toCompletions(await allParsers())));
}
