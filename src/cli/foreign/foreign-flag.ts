import { flagOf, type SettingName } from "../settings/settings.ts";

/** One flag of another server's command line, and its effect here. */
export type ForeignFlag = {
  readonly type: "text" | "integer" | "number" | "boolean";
  /** Effect of the flag, on one line. */
  readonly help: string;
  /** The value that counts there if the flag is absent. */
  readonly default?: string;
  /** An environment variable of that server with the same effect. */
  readonly env?: string;
  readonly short?: string;
} & Effect;

type Effect =
  /** Sets one of our settings; `toText` gives the setting's text, or undefined if the value leaves it as it is. */
  | { readonly setting: SettingName; readonly toText?: (text: string) => string | undefined }
  /** Gives every model a `-o` option of this key; `toText` as above. */
  | { readonly option: string; readonly toText?: (text: string) => string | undefined }
  /** A member of the one model's description. */
  | { readonly field: string }
  /** Read by the command itself; the text says how. */
  | { readonly own: string }
  /** Accepted with a warning that gives the reason why it changes nothing. */
  | { readonly unused: string }
  /** Refused for this reason, unless its value is the default. */
  | { readonly refused: string };

/** Flags of a command by their names, without dashes. */
export type ForeignFlags = Readonly<Record<string, ForeignFlag>>;

const FLAG_WIDTH = 40;

/** Text of a flag's effect, for help and for docs/from-other-servers.md. */
export function effectText(flag: ForeignFlag): string {
  if ("setting" in flag) return `\`${flagOf(flag.setting)}\``;
  if ("option" in flag) return `\`-o ${flag.option}\``;
  if ("field" in flag) return `\`${flag.field}\` of the model`;
  if ("own" in flag) return flag.own;
  return "unused" in flag ? `nothing: ${flag.unused}` : `refused: ${flag.refused}`;
}

/** Text of a number that has to be above 0 to count. */
export function ifPositive(text: string): string | undefined {
  return Number(text) > 0 ? text : undefined;
}

/** A text that has to be there to count. */
export function ifGiven(text: string): string | undefined {
  return text === "" ? undefined : text;
}

/** Help on flags: each with its meaning, its default, and what stands for it here. */
export function flagList(flags: ForeignFlags): string {
  return Object.entries(flags).map(toLine).join("");
}

function toLine([name, flag]: [string, ForeignFlag]): string {
  const { type, short, default: value = "", help } = flag;
  const head = `${short === undefined ? "    " : `-${short}, `}--${name}${type === "boolean" ? "" : ` ${name.toUpperCase()}`}`;
  const fallback = value === "" || type === "boolean" ? "" : ` (default: ${value})`;
  return `  ${head.padEnd(FLAG_WIDTH)} ${help}${fallback} [${effectText(flag).replaceAll("`", "")}]\n`;
}
