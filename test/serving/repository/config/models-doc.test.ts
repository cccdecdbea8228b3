import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { FieldTable } from "../../../../src/serving/repository/config/field-table.ts";
import { MODEL_FIELDS } from "../../../../src/serving/repository/config/model-fields.ts";
import { readConfigFile } from "../../../../src/serving/repository/config/read-config-file.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";

const DOC = new URL("../../../../docs/models.md", import.meta.url);

/** The keys of a model as docs/models.md has them. */
function toTable(fields: FieldTable): string {
  const rows = Object.entries(fields).map(
    ([key, { help, default: fallback }]) => `| \`${key}\` | ${fallback ?? "-"} | ${help} |`,
  );
  return ["| Key | Default | Meaning |", "| --- | --- | --- |", ...rows].join("\n");
}

test("docs/models.md has the keys of a model as their table has them", async () => {
  const doc = await readFile(DOC, "utf8");
  const [, section] = doc.split("<!-- keys of a model -->\n");
  const [table] = (section ?? "").split("\n<!-- end -->");
  expect(table).toBe(toTable(MODEL_FIELDS));
});

test("the configuration file of docs/models.md can be read", async () => {
  const [, text = ""] = /^```yaml\n([\s\S]*?)^```$/m.exec(await readFile(DOC, "utf8")) ?? [];
  const folder = tempFolder({ "serving.yaml": text });
  const { models, settings, warnings } = await readConfigFile(join(folder, "serving.yaml"), [
    "http-port",
    "load-threads",
  ]);
  expect(warnings).toEqual([]);
  expect(models.map(({ name }) => name)).toEqual(["emotion", "faces-to-emotions"]);
  expect(settings).toHaveLength(2);
});

test("the configuration file of docs/replay.md can be read", async () => {
  const doc = await readFile(new URL("../../../../docs/replay.md", import.meta.url), "utf8");
  const [, text = ""] = /^```yaml\n([\s\S]*?)^```$/m.exec(doc) ?? [];
  const folder = tempFolder({ "serving.yaml": text });
  const { models, warnings } = await readConfigFile(join(folder, "serving.yaml"), ["request-log"]);
  expect(warnings).toEqual([]);
  expect(models.map(({ requestLog }) => requestLog)).toEqual([{ rate: 0.1 }, { rate: 0 }]);
});
