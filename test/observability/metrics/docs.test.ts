import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { METRICS, type MetricDescription } from "../../../src/observability/metrics/catalogue.ts";
import { TENSORFLOW_METRICS } from "../../../src/protocols/prometheus/tensorflow-serving-metrics.ts";

test("docs/metrics.md lists every metric of the catalogue as that describes it, and no other", () => {
  expect(rowsThatBegin("| `", "| `:")).toEqual(toRows(METRICS));
});

test("docs/metrics.md lists every metric that has TensorFlow Serving's name, and no other", () => {
  expect(rowsThatBegin("| `:")).toEqual(toRows(TENSORFLOW_METRICS));
});

function rowsThatBegin(start: string, other?: string): readonly string[] {
  const text = readFileSync(new URL("../../../docs/metrics.md", import.meta.url), "utf8");
  return text.split("\n").filter((line) => line.startsWith(start) && !(other !== undefined && line.startsWith(other)));
}

function toRows(metrics: Readonly<Record<string, MetricDescription>>): readonly string[] {
  return Object.entries(metrics).map(([name, { type, labels, help }]) => {
    const names = labels.map((label) => `\`${label}\``).join(", ");
    return `| \`${name}\` | ${type} | ${names} | ${help.replaceAll("|", "\\|")} |`;
  });
}
