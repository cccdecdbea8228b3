import type { Setting } from "../../platform/limits/settings/setting.ts";
import { prefixPath } from "../../serving/repository/config/config-source.ts";
import { folderOf, toPlace } from "../../storage/remote-address.ts";
import { type ConfigEntry, type ConfigNode, placeText } from "../../tensor/codecs/config/config-node.ts";
import { readSetting } from "./read-setting.ts";
import { flagOf, SETTINGS, type SettingName, settingsOf } from "./settings.ts";

/** Settings that name models, or configuration files; a configuration file has `models` for that. */
const NOT_IN_FILES: readonly SettingName[] = ["driver", "modelPath", "option", "hooks", "name", "model", "config"];

/**
 * The settings that a configuration file may have: those of `kserving serve` by the
 * names of their flags, without dashes before them.
 */
export const FILE_SETTINGS: ReadonlyMap<string, SettingName> = new Map(
  settingsOf("serve")
    .filter(([name]) => !NOT_IN_FILES.includes(name))
    .map(([name]) => [flagOf(name).slice(2), name]),
);

/** A setting's value as a configuration file has it. */
export interface FileSetting {
  readonly value: unknown;
  /** `FILE:LINE:COLUMN`. */
  readonly origin: string;
}

/** Settings of configuration files by their names. */
export type FileSettings = ReadonlyMap<SettingName, FileSetting>;

/**
 * Reads the settings of a configuration file as flags of the same text are read; throws `invalid_argument` with its
 * place, for a value that the setting does not take.
 */
export function readFileSettings(entries: readonly ConfigEntry[]): FileSettings {
  return new Map(entries.map((entry) => [FILE_SETTINGS.get(entry.key) as SettingName, readEntry(entry)]));
}

function readEntry({ key, place, value }: ConfigEntry): FileSetting {
  const setting: Setting = SETTINGS[FILE_SETTINGS.get(key) as SettingName];
  const read = readSetting(setting, { source: `${placeText(place)}: ${key}`, text: textOf(value) });
  return { value: setting.isPath ? absolute(read, folderOf(place.file)) : read, origin: placeText(place) };
}

/** A path, or several, as they go out from the file's folder. */
function absolute(paths: unknown, folder: string): unknown {
  return Array.isArray(paths)
    ? paths.map((path: string) => toPlace(path, folder))
    : prefixPath(String(paths), (path) => toPlace(path, folder));
}

/** A list has its entries on lines of their own, which separate them in a variable too. */
function textOf(node: ConfigNode): string {
  if (node.kind === "list") return node.items.map(textOf).join("\n");
  return node.kind === "scalar" ? node.text : "{}";
}
