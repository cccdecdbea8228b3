import { envOf, flagOf, groupsOf, type SettingName, settingsOf, writtenValue } from "../src/cli/settings/settings.ts";
import type { Setting, SettingsCommand } from "../src/platform/limits/settings/setting.ts";

const MAX_WIDTH = 120;
const SERVED: ReadonlySet<SettingName> = new Set(settingsOf("serve").map(([name]) => name));

/** docs/configuration.md with the settings as their table has them: a table for each group of a command. */
export function withSettings(doc: string): string {
  const tables = (["serve", "proxy"] as const).reduce(withTables, doc);
  return tables.replace(/It also takes these flags of `kserving serve`:[^.]*\./, commonFlags);
}

function withTables(doc: string, command: SettingsCommand): string {
  const place = new RegExp(`(<!-- settings of ${command} -->\n)[^]*?(\n<!-- end -->)`);
  return doc.replace(place, (_, begin, end) => `${begin}${toTables(command)}${end}`);
}

/** True for a setting whose row is among those of the command, and not only among those of `serve`. */
function isListed(command: SettingsCommand, name: SettingName): boolean {
  return command === "serve" || !SERVED.has(name);
}

function toTables(command: SettingsCommand): string {
  const tables = groupsOf(command).map((group) => {
    const listed = settingsOf(command, group).filter(([name]) => isListed(command, name));
    return listed.length === 0 ? "" : `**${group}**\n\n${toTable(listed)}`;
  });
  return tables.filter((table) => table !== "").join("\n\n");
}

function toTable(settings: readonly (readonly [SettingName, Setting])[]): string {
  const rows = settings.map(
    ([name, setting]) =>
      `| ${flagCell(name, setting)} | ${envCell(name, setting)} | ${defaultCell(setting)} | ${meaningCell(setting)} |`,
  );
  return ["| Flag | Environment variable | Default | Meaning |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

function flagCell(name: SettingName, { short, type, placeholder }: Setting): string {
  const flag = `\`${flagOf(name)}${type === "boolean" ? "" : ` ${placeholder}`}\``;
  return short === undefined ? flag : `\`${short}\`, ${flag}`;
}

function envCell(name: SettingName, { alsoEnv }: Setting): string {
  return alsoEnv === undefined ? `\`${envOf(name)}\`` : `\`${envOf(name)}\`, \`${alsoEnv}\``;
}

function defaultCell(setting: Setting): string {
  return "default" in setting && setting.default !== undefined ? `\`${writtenValue(setting, setting.default)}\`` : "-";
}

function meaningCell(setting: Setting): string {
  const choices = setting.type === "choice" ? `: ${setting.choices.map((choice) => `\`${choice}\``).join(", ")}` : "";
  return `${setting.help}${choices}${setting.details === undefined ? "" : `. ${setting.details}`}`;
}

/** The flags that proxy has in common with serve, in lines. */
function commonFlags(): string {
  const flags = settingsOf("proxy").flatMap(([name]) => (isListed("proxy", name) ? [] : [`\`${flagOf(name)}\``]));
  const words = `It also takes these flags of \`kserving serve\`: ${flags.join(", ")}.`.split(" ");
  return words.reduce((text, word) => {
    const line = text.slice(text.lastIndexOf("\n") + 1);
    return `${text}${line.length + 1 + word.length > MAX_WIDTH ? "\n" : " "}${word}`;
  });
}
