import { Command } from "commander";

/** Texts around the help of a command's own commands. */
interface ParserHelp {
  readonly description: string;
  /** Examples, and notes on all of its commands. */
  readonly epilogue: string;
}

/** Creates the parser of a command that has commands of its own, such as `kserving config`; it throws in place of ending the process. */
export function createParser(name: string, { description, epilogue }: ParserHelp): Command {
  return new Command(`kserving ${name}`)
    .description(description)
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .addHelpText("after", epilogue)
    .configureOutput({ outputError: () => {} })
    .exitOverride();
}
