import { existsSync } from "node:fs";
import { CommanderError } from "commander";
import { BOOLEANS } from "../../drivers/option-table.ts";
import { invalidArgument, type ServingError } from "../../errors.ts";
import { defaultOf } from "../../platform/limits/settings/server-settings.ts";
import type { Setting, SettingsCommand } from "../../platform/limits/settings/setting.ts";
import { didYouMean } from "../../platform/text/nearest.ts";
import { filePath } from "../../storage/remote-address.ts";
import { COMMAND_NAMES } from "../command-names.ts";
import { type Environment, fromEnvironment } from "./environment.ts";
import { createFlagParser, type ListedFlag } from "./flag-parser.ts";
import type { FileSetting, FileSettings } from "./read-file-settings.ts";
import { readSetting } from "./read-setting.ts";
import { flagOf, type SettingName, type Settings, settingsOf } from "./settings.ts";
import { commandsWithFlag, foreignFlagHint, unexpectedArgument } from "./unknown-words.ts";

/** A command line after reading. */
export interface ParsedCommandLine<Command extends SettingsCommand> {
  readonly settings: Settings<Command>;
  /** Every repeatable flag in the order in which it was given; those from the environment follow. */
  readonly listed: readonly ListedFlag[];
  /** Sources of the settings that are given: a flag, a variable, or a place in a file; others have their defaults. */
  readonly origins: ReadonlyMap<SettingName, string>;
  /** Words without a flag, which are paths of models and hook files. */
  readonly words: readonly string[];
}

/**
 * Reads a command's arguments; what they leave out comes from the environment, else
 * from configuration files, else from the defaults. Throws `invalid_argument` for what
 * it cannot read, and CommanderError with exit code 0 once help or version is printed.
 */
export function parseSettings<Command extends SettingsCommand>(
  command: Command,
  argv: readonly string[],
  { env, files = new Map(), foreign = new Map() }: SettingSources,
): ParsedCommandLine<Command> {
  const listed: ListedFlag[] = [];
  const { flags, words } = parseArguments(command, argv, (flag) => listed.push(flag));
  const given: GivenValues = new Map();
  for (const [name, setting] of settingsOf(command)) {
    const flag = readFlag(name, setting, flags[attributeOf(name)]) ?? foreign.get(name);
    const value = flag ?? readVariable(name, setting, env, listed) ?? files.get(name);
    if (value !== undefined) given.set(name, setting.isPath ? withoutUrls(value) : value);
  }
  const complete = settingsOf(command).map(([name, setting]) => [
    name,
    given.has(name) ? given.get(name)?.value : valueOfAbsent(setting, given),
  ]);
  const origins = new Map(Array.from(given, ([name, { origin }]) => [name, origin]));
  return { settings: Object.fromEntries(complete) as Settings<Command>, listed, origins, words: words.map(filePath) };
}

/** A setting whose `file:///PATH` are paths. */
function withoutUrls({ value, origin }: FileSetting): FileSetting {
  const paths = Array.isArray(value) ? value.map(filePath) : filePath(String(value));
  return { value: paths, origin };
}

/** Sources of settings in addition to the command line. */
export interface SettingSources {
  readonly env: Environment;
  readonly files?: FileSettings;
  /** Settings that flags of another server say; these count as our own flags do. */
  readonly foreign?: FileSettings;
}

/** Values that are given, without defaults. */
type GivenValues = Map<SettingName, FileSetting>;

/** The name by which commander has a flag: `sendTimeoutMs` → `sendTimeout`. */
function attributeOf(name: SettingName): string {
  return flagOf(name)
    .slice(2)
    .replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function readFlag(name: SettingName, setting: Setting, value: unknown): FileSetting | undefined {
  if (value === undefined) return undefined;
  const origin = flagOf(name);
  return { value: typeof value === "string" ? readSetting(setting, { source: origin, text: value }) : value, origin };
}

function readVariable(name: SettingName, setting: Setting, env: Environment, listed: ListedFlag[]) {
  const given = fromEnvironment(name, setting, env);
  if (given === undefined) return undefined;
  const value = readSetting(setting, given);
  if (setting.type === "list")
    listed.push(...(value as readonly string[]).map((entry) => ({ flag: flagOf(name).slice(2), value: entry })));
  return { value, origin: given.source };
}

function valueOfAbsent(setting: Setting, given: GivenValues): unknown {
  if (setting.type === "boolean" && given.has(setting.onWith as SettingName)) return true;
  return defaultOf(setting);
}

function parseArguments(
  name: SettingsCommand,
  argv: readonly string[],
  onListed: (flag: ListedFlag) => void,
): { readonly flags: Partial<Record<string, unknown>>; readonly words: readonly string[] } {
  const command = createFlagParser(name, onListed);
  try {
    command.parse(withBareFlags(name, argv), { from: "user" });
  } catch (reason) {
    throw (
      (name === "serve" ? foreignFlag(reason) : undefined) ??
      flagOfOther(reason, name) ??
      toUsageError(reason, `${command.name()} --help lists the flags`)
    );
  }
  const unexpected = command.args.find((word) => name !== "serve" || !isPath(word));
  if (unexpected === undefined) return { flags: command.opts(), words: command.args };
  if (name === "serve") throw unexpectedArgument(unexpected, unexpected === argv[0]);
  throw invalidArgument(
    `${command.name()} takes flags alone, not "${unexpected}"; ${command.name()} --help lists them.`,
  );
}

/** The arguments, in which a path behind a flag that may stand alone is not the flag's value. */
function withBareFlags(name: SettingsCommand, argv: readonly string[]): readonly string[] {
  const values = new Map(settingsOf(name).flatMap(([key, setting]) => valuesOfBare(flagOf(key), setting)));
  return argv.map((argument, index) => {
    const next = argv[index + 1] ?? "";
    const isBare = values.get(argument)?.has(next.toLowerCase()) === false && !next.startsWith("-") && isPath(next);
    return isBare ? `${argument}=true` : argument;
  });
}

/** The values of a flag that may stand alone. */
function valuesOfBare(flag: string, setting: Setting): [string, ReadonlySet<string>][] {
  const booleans = [...BOOLEANS.keys()];
  if (setting.type === "boolean") return [[flag, new Set(booleans)]];
  if (setting.type !== "choice" || setting.bare === undefined) return [];
  return [[flag, new Set([...booleans, ...setting.choices])]];
}

/** A path or an address by its look, or a name of something that is there. */
function isPath(word: string): boolean {
  return /[./\\]/.test(word) || (!COMMAND_NAMES.some((name) => name === word) && existsSync(word));
}

/** The error for a flag that the other command has. */
function flagOfOther(reason: unknown, name: SettingsCommand): ServingError | undefined {
  const [, flag] = reason instanceof CommanderError ? (/unknown option '([^'=]+)/.exec(reason.message) ?? []) : [];
  const other = name === "serve" ? "proxy" : "serve";
  if (flag === undefined || !settingsOf(other).some(([each]) => flagOf(each) === flag)) return undefined;
  return invalidArgument(
    `${flag} is a flag of kserving ${other}, not of kserving ${name}; kserving ${name} --help lists the flags.`,
  );
}

/**
 * The error for a flag that another server has, with what to write here; commander
 * would suggest what happens to be spelt alike.
 */
function foreignFlag(reason: unknown): ServingError | undefined {
  const [, argument] = reason instanceof CommanderError ? (/unknown option '([^']+)'/.exec(reason.message) ?? []) : [];
  const hint = argument === undefined ? undefined : foreignFlagHint(argument);
  if (argument === undefined || hint === undefined) return undefined;
  const [flag] = argument.split("=", 1);
  const takers = commandsWithFlag(argument).join(" and ");
  const taker = takers === "" ? "" : ` It is a flag of ${takers}.`;
  return invalidArgument(`There is no flag ${flag} here: ${hint}.${taker} kserving --help lists the flags.`);
}

/**
 * Commander's complaint as `invalid_argument` with what to do next, anything else as it is. Commander puts its
 * suggestion on a second line.
 */
export function toUsageError(reason: unknown, whatNext: string): unknown {
  if (!(reason instanceof CommanderError) || reason.exitCode === 0) return reason;
  return invalidArgument(`${usageText(reason.message)}; ${whatNext}.`);
}

const MISSING = /^missing required argument '(.+)'$/;
const ARGUMENT = /^command-argument value '(.*)' is invalid for argument '(.+)'\. Allowed choices are (.+)$/s;
const FLAG = /^option '(?:-\w, )?(--[\w-]+).*' argument '(.*)' is invalid\. Allowed choices are (.+)$/s;

/** Commander's text of an error as messages of ours are: what was wrong, the nearest choice, and all of them. */
export function usageText(text: string): string {
  const plain = text.replace(/^error: |\.$/g, "").replace("\n", " ");
  const [, missing] = MISSING.exec(plain) ?? [];
  if (missing !== undefined) return `The argument ${missing} is missing`;
  const [, value = "", name, choices = ""] = ARGUMENT.exec(plain) ?? [];
  if (name !== undefined) return `There is no ${name} "${value}".${nearest(value, choices)} Expected one of ${choices}`;
  const [, flag, given = "", known = ""] = FLAG.exec(plain) ?? [];
  if (flag !== undefined) return `${flag} is "${given}".${nearest(given, known)} Expected one of ${known}`;
  return plain;
}

function nearest(value: string, choices: string): string {
  return didYouMean(value, choices.split(", "));
}
