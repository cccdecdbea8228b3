import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { SettingsCommand } from "../../../src/cli/command-names.ts";
import type { Setting } from "../../../src/cli/settings/setting.ts";
import { envOf, flagOf, groupsOf, type SettingName, settingsOf } from "../../../src/cli/settings/settings.ts";

const DOC = new URL("../../../docs/configuration.md", import.meta.url);

/** The settings of one command as docs/configuration.md has them: a table for each group. */
function toTables(command: SettingsCommand): string {
  return groupsOf(command)
    .map((group) => `**${group}**\n\n${toTable(settingsOf(command, group))}`)
    .join("\n\n");
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
  return "default" in setting && setting.default !== undefined ? `\`${setting.default}\`` : "-";
}

function meaningCell(setting: Setting): string {
  const choices = setting.type === "choice" ? `: ${setting.choices.map((choice) => `\`${choice}\``).join(", ")}` : "";
  return `${setting.help}${choices}${setting.details === undefined ? "" : `. ${setting.details}`}`;
}

test.each(["serve", "proxy"] as const)(
  "docs/configuration.md has the settings of %s as the table of settings has them",
  async (command) => {
    const doc = await readFile(DOC, "utf8");
    const [, section] = doc.split(`<!-- settings of ${command} -->\n`);
    const [table] = (section ?? "").split("\n<!-- end -->");
    expect(table).toBe(toTables(command));
  },
);
