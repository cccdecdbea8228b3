import { Command, Help, Option } from "commander";
import { helpWidth } from "../help-width.ts";
import { toUsageError } from "../settings/parse-settings.ts";
import { readSetting } from "../settings/read-setting.ts";
import { refuseRepeats } from "../settings/refuse-repeats.ts";

/** Texts around the list of a command's flags or subcommands. */
export interface ParserHelp {
  readonly description: string;
  /** Examples, and notes. */
  readonly epilogue: string;
}

/** Creates the parser of a command, such as `kserving config`; it throws instead of ending the process. */
export function createParser(name: string, { description, epilogue }: ParserHelp): Command {
  return new Command(`kserving ${name}`)
    .description(description)
    .helpOption("-h, --help", "print this help")
    .helpCommand(false)
    .addHelpText("after", epilogue)
    .configureOutput({ outputError: () => {}, getOutHelpWidth: helpWidth })
    .configureHelp({ optionDescription: describeOption })
    .exitOverride();
}

/** The empty list with which a repeatable flag begins is not a default that readers of help look for. */
function describeOption(option: Option): string {
  const isList = Array.isArray(option.defaultValue);
  return new Help().optionDescription(isList ? new Option(option.flags, option.description) : option);
}

/** Parses a command's arguments and runs its action; throws `invalid_argument` for what it does not take. */
export async function runParser(command: Command, argv: readonly string[]): Promise<void> {
  // Lists collect their values in an array.
  refuseRepeats(command, ({ defaultValue }) => Array.isArray(defaultValue));
  try {
    await command.parseAsync(argv, { from: "user" });
  } catch (reason) {
    throw toUsageError(reason, `${command.name()} --help lists its arguments`);
  }
}

/** The values of a repeatable flag, in their order. */
export function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

/** Reads a flag's whole number; throws `invalid_argument` for anything else, and below `min`. */
export function readCount(source: string, text: string, min: number): number {
  return Number(readSetting({ type: "count", min, help: "", commands: [] }, { source, text }));
}

/** Reads a flag's number of seconds; throws `invalid_argument` for anything else. */
export function readSeconds(source: string, text: string): number {
  return Number(readSetting({ type: "seconds", default: 0, help: "", commands: [] }, { source, text })) / 1000;
}

/** Flags of the commands that load a model. */
export interface ModelFlags {
  readonly driver?: string;
  readonly option: readonly string[];
  readonly hooks?: string;
}

/** Adds `--hooks` and `-o` to a command's parser. */
export function addModelFlags(command: Command): Command {
  return command
    .option("--hooks <file>", "hook file that runs before and after the model")
    .addOption(
      new Option("-o, --option <key=value>", "option of the driver or the hooks; repeatable")
        .argParser(collect)
        .default([], ""),
    );
}
