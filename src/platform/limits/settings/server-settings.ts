import { AUTH_SETTINGS } from "./access-settings.ts";
import { HOOK_SETTINGS } from "./hook-settings.ts";
import { LIMIT_SETTINGS } from "./limit-settings.ts";
import { LOG_SETTINGS } from "./log-settings.ts";
import { MODEL_SETTINGS } from "./model-settings.ts";
import { NETWORK_SETTINGS } from "./network-settings.ts";
import type { PROTOCOL_SETTINGS } from "./protocol-settings.ts";
import { REPOSITORY_SETTINGS } from "./repository-settings.ts";
import type { Default, Setting, ValueOf } from "./setting.ts";

// By the names of the tables: their doc comments would not be in the declarations of a type that is inferred.
type Table = typeof MODEL_SETTINGS &
  typeof REPOSITORY_SETTINGS &
  typeof HOOK_SETTINGS &
  typeof PROTOCOL_SETTINGS &
  typeof NETWORK_SETTINGS &
  typeof AUTH_SETTINGS &
  typeof LIMIT_SETTINGS &
  typeof LOG_SETTINGS;

/**
 * Every setting, by the name that it has everywhere in the code. A row is all that there is to say of one: its flag,
 * its variable, its key in configuration files, their check, help and documentation follow from it; if it has a slice,
 * so do its option of `createServer` with that one's check, and its way through the server.
 */
export const SETTING_TABLE: Table = {
  ...MODEL_SETTINGS,
  ...REPOSITORY_SETTINGS,
  ...HOOK_SETTINGS,
  ...NETWORK_SETTINGS,
  ...AUTH_SETTINGS,
  ...LIMIT_SETTINGS,
  ...LOG_SETTINGS,
};

/** A setting that is an option of `createServer` too. */
export type OptionName = { [Name in keyof Table]: Table[Name] extends { slice: string } ? Name : never }[keyof Table];
type DefaultName = {
  [Name in OptionName]: Table[Name] extends { type: "list" } | { default: Default } ? Name : never;
}[OptionName];
type SliceName = Table[OptionName]["slice"];
type NamesIn<Slice extends SliceName> = {
  [Name in OptionName]: Table[Name]["slice"] extends Slice ? Name : never;
}[OptionName];

// Mapped without `as`, which would lose the doc comments of the table's rows.
type Given<Rows extends Record<keyof Rows, Setting>, Names extends keyof Rows> = {
  readonly [Name in Names]: ValueOf<Rows[Name]>;
};

/** Settings as options, each of which may be left out. */
export type SettingOptions = Partial<Given<Table, OptionName>>;

/** Settings with what counts if they are left out; those without a default may be absent. */
type Complete<Names extends OptionName> = Given<Table, Extract<Names, DefaultName>> &
  Partial<Given<Table, Exclude<Names, DefaultName>>>;

/** All settings of a server, by the part that obeys them. Each part gets its slice as it is. */
export type ServerSettings = { readonly [Slice in SliceName]: Complete<NamesIn<Slice>> };
/** Settings of the answers of each protocol, over both transports. */
export type ProtocolSettings = ServerSettings["protocols"];
/** Settings of loading and unloading versions. */
export type LoadingSettings = ServerSettings["loading"];
/** Settings of hooks, and of the threads that run them. */
export type HookSettings = ServerSettings["hooks"];
/** Limits on requests, clients and connections. */
export type LimitSettings = ServerSettings["limits"];

const OPTIONS = Object.entries<Setting>(SETTING_TABLE).filter(([, { slice }]) => slice !== undefined) as [
  OptionName,
  Setting & { readonly slice: SliceName },
][];

/** The options with what they are checked by. */
export const OPTION_ROWS: ReadonlyMap<OptionName, Setting> = new Map(OPTIONS);

/** Values of options that are left out. */
export const SERVER_DEFAULTS = Object.fromEntries(
  OPTIONS.map(([name, row]) => [name, defaultOf(row)]).filter(([, value]) => value !== undefined),
) as Given<Table, DefaultName>;

/** The value of a setting that is not given. */
export function defaultOf(setting: Setting): unknown {
  return setting.type === "list" ? [] : setting.default;
}

/** Sorts options by the parts of a server, with what they leave out. */
export function sliceSettings(given: SettingOptions): ServerSettings {
  const settings: Record<string, Record<string, unknown>> = {};
  for (const [name, row] of OPTIONS) {
    const value = given[name] ?? defaultOf(row);
    settings[row.slice] = { ...settings[row.slice], ...(value !== undefined && { [name]: value }) };
  }
  return settings as unknown as ServerSettings;
}
