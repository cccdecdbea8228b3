import type { Command, Option } from "commander";
import { DRIVER_NAMES } from "../../drivers/registry.ts";
import { COMMANDS } from "../command-names.ts";

/** A command as shells complete it; one that has commands is followed by those, as `runtimes install`. */
export interface Completion {
  /** Its words: `["runtimes", "install"]`. */
  readonly words: readonly string[];
  readonly help: string;
  readonly flags: readonly FlagCompletion[];
  /** Words that may follow it in place of a path. */
  readonly next: readonly string[];
}

/** A flag as shells complete it. */
export interface FlagCompletion {
  /** `--port`, and `-o` if it has one. */
  readonly names: readonly string[];
  readonly help: string;
  readonly takesValue: boolean;
  /** The values that it may have; empty = any, such as a path. */
  readonly choices: readonly string[];
}

/** The completions of all commands, from their parsers. */
export function toCompletions(parsers: ReadonlyMap<string, Command>): readonly Completion[] {
  const help: Readonly<Record<string, string>> = { ...HELP, ...COMMANDS };
  return [...parsers].flatMap(([name, parser]) => [
    toCompletion([name], parser, help[name] ?? ""),
    ...parser.commands.map((each) => toCompletion([name, each.name()], each, each.description())),
  ]);
}

const HELP = { serve: "serve models", proxy: "serve HTTP for a gRPC server that runs elsewhere" };

function toCompletion(words: readonly string[], parser: Command, help: string): Completion {
  const flags = parser.options.filter(({ hidden }) => !hidden).map(toFlag);
  const own = { names: ["--help", "-h"], help: "print this help", takesValue: false, choices: [] };
  const next = words[0] === "drivers" ? DRIVER_NAMES : parser.commands.map((command) => command.name());
  const choices = parser.registeredArguments.flatMap((argument) => argument.argChoices ?? []);
  return { words, help, flags: [...flags, own], next: [...next, ...choices] };
}

function toFlag({ long, short, description, required, argChoices }: Option): FlagCompletion {
  const names = [long, short].filter((name) => name !== undefined && name !== null);
  const choices = argChoices ?? (long === "--driver" ? DRIVER_NAMES : (choicesIn(description) ?? []));
  return { names, help: description, takesValue: required, choices };
}

/** Settings have their choices in the text of their help: `certificates: grpc, all (default: all)`. */
function choicesIn(description: string): readonly string[] | undefined {
  const list = /: ([a-z-]+(?:, [a-z-]+)+)(?: \(default|$)/.exec(description)?.[1];
  return list?.split(", ");
}
