import { invalidArgument } from "../../errors.ts";
import type { Setting } from "../../platform/limits/settings/setting.ts";
import type { FileSetting } from "../settings/read-file-settings.ts";
import { readSetting } from "../settings/read-setting.ts";
import { SETTINGS, type SettingName } from "../settings/settings.ts";
import type { ForeignFlag, ForeignFlags } from "./foreign-flag.ts";

/** Meaning of another server's flags, in our terms. */
export interface Translation {
  readonly settings: Map<SettingName, FileSetting>;
  /** `-o` options of every model. */
  readonly options: Record<string, string>;
  /** Members of the one model's description. */
  readonly fields: Record<string, string>;
  /** One for each flag that changes nothing here. */
  readonly warnings: string[];
}

/** Throws `invalid_argument`, with the flag as it was given, for a flag that is refused. */
export function assertTaken(values: ReadonlyMap<string, string>, flags: ForeignFlags): void {
  for (const [name, value] of values) {
    const flag = flags[name] as ForeignFlag;
    if ("refused" in flag && value !== flag.default)
      throw invalidArgument(`${originOf(name)} is not taken: ${flag.refused}.`);
  }
}

/**
 * Translates flags by their table. Throws `invalid_argument`, with the flag as it was given, for a value that our
 * setting does not take and for a flag that is refused.
 */
export function translateFlags(values: ReadonlyMap<string, string>, flags: ForeignFlags): Translation {
  assertTaken(values, flags);
  const translation: Translation = { settings: new Map(), options: {}, fields: {}, warnings: [] };
  for (const [name, value] of values) translate({ name, value, flag: flags[name] as ForeignFlag }, translation);
  return translation;
}

interface GivenFlag {
  readonly name: string;
  readonly value: string;
  readonly flag: ForeignFlag;
}

function translate({ name, value, flag }: GivenFlag, { settings, options, fields, warnings }: Translation): void {
  const origin = originOf(name);
  if ("field" in flag) fields[flag.field] = value;
  if ("unused" in flag && value !== flag.default) warnings.push(`${origin} changes nothing here: ${flag.unused}.`);
  if (!("setting" in flag) && !("option" in flag)) return;
  const text = flag.toText === undefined ? value : flag.toText(value);
  if (text === undefined) return;
  if ("option" in flag) options[flag.option] = text;
  else settings.set(flag.setting, settingOf(flag.setting, text, origin));
}

/** Variables of the environment are in capitals, flags are not. */
function originOf(name: string): string {
  return /^[A-Z_]+$/.test(name) ? name : `--${name}`;
}

/** A setting's value, read as a flag of the same text is. */
export function settingOf(name: SettingName, text: string, origin: string): FileSetting {
  const setting: Setting = SETTINGS[name];
  return { value: readSetting(setting, { source: origin, text }), origin };
}
