import { Command } from "commander";
import { helpWidth } from "../help-width.ts";

/** Texts around the list of a command's subcommands. */
interface ParserHelp {
  readonly description: string;
  /** Examples, and notes on all subcommands. */
  readonly epilogue: string;
}

/** Creates the parser of a command with subcommands, such as `kserving config`; it throws instead of ending the process. */
export function createParser(name: string, { description, epilogue }: ParserHelp): Command {
  return new Command(`kserving ${name}`)
    .description(description)
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .addHelpText("after", epilogue)
    .configureOutput({ outputError: () => {}, getOutHelpWidth: helpWidth })
    .exitOverride();
}
