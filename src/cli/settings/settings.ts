import type { SettingsCommand } from "../command-names.ts";
import { AUTH_SETTINGS } from "./auth-settings.ts";
import { HOOK_SETTINGS } from "./hook-settings.ts";
import { LIMIT_SETTINGS } from "./limit-settings.ts";
import { LOG_SETTINGS } from "./log-settings.ts";
import { MODEL_SETTINGS } from "./model-settings.ts";
import { NETWORK_SETTINGS } from "./network-settings.ts";
import { REPOSITORY_SETTINGS } from "./repository-settings.ts";
import type { Setting } from "./setting.ts";

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

/**
 * Every setting of the command line. The key in kebab-case is the flag, in upper case behind `KSERVING_` the
 * environment variable; parsing, help and docs/configuration.md follow from this one table.
 */
export const SETTINGS = {
  ...MODEL_SETTINGS,
  ...REPOSITORY_SETTINGS,
  ...HOOK_SETTINGS,
  ...NETWORK_SETTINGS,
  ...AUTH_SETTINGS,
  ...LIMIT_SETTINGS,
  ...LOG_SETTINGS,
} as const satisfies Record<string, Setting>;

/** A key of {@link SETTINGS}. */
export type SettingName = keyof typeof SETTINGS;

interface ValueByType {
  readonly text: string;
  readonly host: string;
  readonly address: string;
  readonly boolean: boolean;
  readonly port: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly share: number;
  readonly count: number;
  readonly list: readonly string[];
  readonly command: readonly [string, ...string[]];
}

type ValueOf<S extends Setting> = S extends { choices: readonly (infer Choice)[] }
  ? Choice
  : S extends { type: keyof ValueByType }
    ?
        | ValueByType[S["type"]]
        | (S extends { type: "text" | "count" | "command" | "port" } & { default?: never } ? undefined : never)
    : never;

/** The settings of one command, with defaults; undefined = not given, and without a default. */
export type Settings<Command extends SettingsCommand> = {
  readonly [Name in SettingName as Command extends (typeof SETTINGS)[Name]["commands"][number] ? Name : never]: ValueOf<
    (typeof SETTINGS)[Name]
  >;
};

/** The settings that a command takes, in the order of help; with `group`, those of that group. */
export function settingsOf(command: SettingsCommand, group?: GroupName): [SettingName, Setting][] {
  const table = group === undefined ? SETTINGS : SETTING_GROUPS[group];
  const all = Object.entries<Setting>(table) as [SettingName, Setting][];
  return all.filter(([, { commands }]) => commands.includes(command));
}

/** A key of {@link SETTING_GROUPS}. */
export type GroupName = keyof typeof SETTING_GROUPS;

/** The groups of which a command takes a setting. */
export function groupsOf(command: SettingsCommand): GroupName[] {
  const names = Object.keys(SETTING_GROUPS) as GroupName[];
  return names.filter((group) => settingsOf(command, group).length > 0);
}

/** `modelPath` → `--model-path`. */
export function flagOf(name: SettingName): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `modelPath` → `KSERVING_MODEL_PATH`. */
export function envOf(name: SettingName): string {
  return `KSERVING_${flagOf(name).slice(2).replaceAll("-", "_").toUpperCase()}`;
}
