import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { SettingsCommand } from "../../../src/cli/command-names.ts";
import type { Setting } from "../../../src/cli/settings/setting.ts";
import { envOf, flagOf, groupsOf, type SettingName, settingsOf } from "../../../src/cli/settings/settings.ts";

const DOC = new URL("../../../docs/configuration.md", import.meta.url);

const SERVED: ReadonlySet<SettingName> = new Set(settingsOf("serve").map(([name]) => name));

/** Checks that a setting has its row among those of the command, and not only among those of `serve`. */
function isListed(command: SettingsCommand, name: SettingName): boolean {
  return command === "serve" || !SERVED.has(name);
}

/** The settings of one command as docs/configuration.md has them: a table for each group. */
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

test("docs/configuration.md names the flags that proxy has in common with serve", async () => {
  const [, text = ""] =
    /It also takes these flags of `kserving serve`:([^.]*)\./.exec(await readFile(DOC, "utf8")) ?? [];
  const common = settingsOf("proxy").filter(([name]) => !isListed("proxy", name));
  expect(text.match(/--[a-z-]+/g)).toEqual(common.map(([name]) => flagOf(name)));
});
