import { Argument, type Command } from "commander";
import { invalidArgument } from "../../errors.ts";
import { toCompletions } from "../completion/completions.ts";
import { bashCompletion, fishCompletion, zshCompletion } from "../completion/shell-scripts.ts";
import { createParser, runParser } from "./create-parser.ts";

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

const EPILOGUE = `
Examples:
  source <(kserving completion bash)
  kserving completion bash > ~/.local/share/bash-completion/completions/kserving
  kserving completion zsh > ~/.zfunc/_kserving
  kserving completion fish > ~/.config/fish/completions/kserving.fish
  kserving completion --json
`;

/** The parsers of all commands by name. */
type Parsers = () => Promise<ReadonlyMap<string, Command>>;

/** `kserving completion`: prints a script by which a shell completes command lines, or the data of such scripts. */
export function completion(argv: readonly string[], parsers: Parsers): Promise<void> {
  const action = (shell: keyof typeof SHELLS | undefined, flags: Flags) => run(shell, flags, parsers);
  return runParser(createCompletionCommand().action(action), argv);
}

/** The parser of `kserving completion`. */
export function createCompletionCommand(): Command {
  return createParser("completion", {
    description: "Prints a script by which a shell completes commands, flags, drivers and paths.",
    epilogue: EPILOGUE,
  })
    .addArgument(new Argument("[shell]", "the shell").choices(Object.keys(SHELLS)))
    .option("--json", "print commands and flags as JSON, for other shells and editors");
}

interface Flags {
  readonly json?: boolean;
}

async function run(shell: keyof typeof SHELLS | undefined, { json = false }: Flags, parsers: Parsers): Promise<void> {
  if (json === (shell !== undefined))
    throw invalidArgument(
      `Expected one of ${Object.keys(SHELLS).join(", ")} or --json, as in: kserving completion bash`,
    );
  const completions = toCompletions(await parsers());
  const data = () => `${JSON.stringify(completions, null, 2)}\n`;
  process.stdout.write(shell === undefined ? data() : SHELLS[shell]("kserving", completions));
}
