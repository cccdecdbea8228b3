import { invalidArgument } from "../../errors.ts";
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

/**
 * `kserving completion`: prints a script by which a shell completes command lines, or what such scripts are made of.
 */
export function completion(argv: readonly string[]): Promise<void> {
  return runParser(createCompletionCommand().action(run), argv);
}

async function run(shell: Shell | undefined, { json = false }: { readonly json?: boolean }): Promise<void> {
  if (json === (shell !== undefined))
    throw invalidArgument(
      `Expected one of ${Object.keys(SHELLS).join(", ")} or --json, as in: kserving completion bash`,
    );
  const completions = toCompletions(await allParsers());
  const data = () => `${JSON.stringify(completions, null, 2)}\n`;
  process.stdout.write(shell === undefined ? data() : SHELLS[shell]("kserving", completions));
}
