import { DRIVER_NAMES } from "../../drivers/registry.ts";
import { AUTH_SETTINGS } from "../../platform/limits/settings/access-settings.ts";
import { HOOK_SETTINGS } from "../../platform/limits/settings/hook-settings.ts";
import { LIMIT_SETTINGS } from "../../platform/limits/settings/limit-settings.ts";
import { LOG_SETTINGS } from "../../platform/limits/settings/log-settings.ts";
import { MODEL_SETTINGS } from "../../platform/limits/settings/model-settings.ts";
import { NETWORK_SETTINGS } from "../../platform/limits/settings/network-settings.ts";
import { REPOSITORY_SETTINGS } from "../../platform/limits/settings/repository-settings.ts";
import { SETTING_TABLE } from "../../platform/limits/settings/server-settings.ts";
import type { AbsentValueOf, Setting, SettingsCommand, ValueOf } from "../../platform/limits/settings/setting.ts";

/** The groups of settings, in the order of help and docs/configuration.md. */
const SETTING_GROUPS = {
  Models: MODEL_SETTINGS,
  "Several models": REPOSITORY_SETTINGS,
  Hooks: HOOK_SETTINGS,
  Network: NETWORK_SETTINGS,
  Authentication: AUTH_SETTINGS,
  Limits: LIMIT_SETTINGS,
  Logging: LOG_SETTINGS,
} as const satisfies Record<string, Record<string, Setting>>;

/** Every setting of the command line, with the names of drivers, which the table itself cannot know. */
export const SETTINGS = {
  ...SETTING_TABLE,
  driver: {
    ...SETTING_TABLE.driver,
    help: SETTING_TABLE.driver.help.replace("{drivers}", DRIVER_NAMES.join(", ")),
  },
} as const satisfies Record<string, Setting>;

type Table = typeof SETTINGS;

/** A key of {@link SETTINGS}. */
export type SettingName = keyof Table;

/** The settings of one command, with defaults; undefined = not given, and without a default. */
export type Settings<Command extends SettingsCommand> = {
  readonly [Name in SettingName as Command extends Table[Name]["commands"][number] ? Name : never]:
    | ValueOf<Table[Name]>
    | AbsentValueOf<Table[Name]>;
};

/** The settings that a command takes, in the order of help; with `group`, those of that group. */
export function settingsOf(command: SettingsCommand, group?: GroupName): [SettingName, Setting][] {
  const names = Object.keys(group === undefined ? SETTINGS : SETTING_GROUPS[group]) as SettingName[];
  const all = names.map((name): [SettingName, Setting] => [name, SETTINGS[name]]);
  return all.filter(([, { commands }]) => commands.includes(command));
}

/** A group of settings. */
export type GroupName = keyof typeof SETTING_GROUPS;

/** The groups of which a command takes a setting. */
export function groupsOf(command: SettingsCommand): GroupName[] {
  const names = Object.keys(SETTING_GROUPS) as GroupName[];
  return names.filter((group) => settingsOf(command, group).length > 0);
}

/** `modelPath` → `--model-path`, `sendTimeoutMs` → `--send-timeout`. */
export function flagOf(name: SettingName): string {
  const { flag }: Setting = SETTINGS[name];
  const plain = name.replace(/Ms$/, "").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `--${flag ?? plain}`;
}

/** `modelPath` → `KSERVING_MODEL_PATH`. */
export function envOf(name: SettingName): string {
  return `KSERVING_${flagOf(name).slice(2).replaceAll("-", "_").toUpperCase()}`;
}

/** A setting's value as people write it: times in seconds. */
export function writtenValue({ type }: Setting, value: unknown): unknown {
  return type === "seconds" ? Number(value) / 1000 : value;
}
