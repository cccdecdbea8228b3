import { Argument, type Command } from "commander";
import { createParser } from "./create-parser.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
/** A shell that can complete our command lines. */
export type Shell = (typeof SHELLS)[number];

const EPILOGUE = `
Examples:
  source <(kserving completion bash)
  kserving completion bash > ~/.local/share/bash-completion/completions/kserving
  kserving completion zsh > ~/.zfunc/_kserving
  kserving completion fish > ~/.config/fish/completions/kserving.fish
  kserving completion --json
`;

/** The parser of `kserving completion`. */
export function createCompletionCommand(): Command {
  return createParser("completion", {
    description: "Prints a script by which a shell completes commands, flags, drivers and paths.",
    epilogue: EPILOGUE,
  })
    .addArgument(new Argument("[shell]", "the shell").choices(SHELLS))
    .option("--json", "print commands and flags as JSON, for other shells and editors");
}
