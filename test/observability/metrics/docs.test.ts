import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { METRICS } from "../../../src/observability/metrics/catalogue.ts";

test("docs/metrics.md lists every metric of the catalogue as that describes it, and no other", () => {
  const text = readFileSync(new URL("../../../docs/metrics.md", import.meta.url), "utf8");
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  const expected = Object.entries(METRICS).map(([name, { type, labels, help }]) => {
    const names = labels.map((label) => `\`${label}\``).join(", ");
    return `| \`${name}\` | ${type} | ${names} | ${help.replaceAll("|", "\\|")} |`;
  });
  expect(rows).toEqual(expected);
});
