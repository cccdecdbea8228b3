import { type Command, Option } from "commander";
import { collect } from "./collect.ts";

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
