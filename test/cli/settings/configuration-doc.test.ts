import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { withSettings } from "../../../scripts/configuration-doc.ts";
import { settingsOf } from "../../../src/cli/settings/settings.ts";

const DOC = new URL("../../../docs/configuration.md", import.meta.url);

test("docs/configuration.md has the settings of serve and proxy as the table of settings has them", async () => {
  const doc = await readFile(DOC, "utf8");
  expect(withSettings(doc)).toBe(doc);
});

test.each(["serve", "proxy"] as const)(
  "a row of %s that is missing, or that nobody wrote, is found",
  async (command) => {
    const doc = await readFile(DOC, "utf8");
    const begin = `<!-- settings of ${command} -->\n`;
    const [before, section = ""] = doc.split(begin);
    expect(section).not.toBe("");
    expect(settingsOf(command).length).toBeGreaterThan(10);
    for (const wrong of [
      section.replace(/\n\| `--.*/, ""),
      section.replace("\n| `--", "\n| `--no-flag` | - | - | - |\n| `--"),
    ])
      expect(withSettings(`${before}${begin}${wrong}`)).toBe(doc);
  },
);

test("the flags that proxy has in common with serve are named in a sentence", async () => {
  const doc = await readFile(DOC, "utf8");
  expect(withSettings(doc.replace("`--host`, `--http-port`,", "`--http-port`,"))).toBe(doc);
});
