import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { METRICS } from "../../src/observability/metrics/catalogue.ts";
import { hasPromtool } from "../helpers/find-promtool.ts";
import { readDashboardQueries } from "./dashboard-queries.ts";

const ALERTS = fileURLToPath(new URL("../../examples/monitoring/alerts.yaml", import.meta.url));

/** Names of metrics in a query, without a histogram's endings. */
function metricsIn(query: string): string[] {
  const names = query.match(/\b(?:kserving|nodejs|process)_\w+/g) ?? [];
  return names.map((name) => (name in METRICS ? name : name.replace(/_(?:bucket|sum|count)$/, "")));
}

describe("examples/monitoring", () => {
  test.each([
    ["alerts.yaml", () => [readFileSync(ALERTS, "utf8")]],
    ["dashboard.json", readDashboardQueries],
  ])("%s asks for metrics that there are", (_, read) => {
    const names = new Set(read().flatMap(metricsIn));
    expect([...names].filter((name) => !(name in METRICS))).toEqual([]);
    expect(names.size).toBeGreaterThan(5);
  });

  test.skipIf(!hasPromtool())("Prometheus reads the rules", () => {
    expect(execFileSync("promtool", ["check", "rules", ALERTS], { encoding: "utf8" })).toContain("SUCCESS: 7 rules");
  });
});
