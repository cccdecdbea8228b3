import { expect, test } from "vitest";
import type { LevelResult } from "../../../src/tools/benchmark/measure/level.ts";
import { linearAxis, shareAxis, toReport } from "../../../src/tools/benchmark/report.ts";

const level: LevelResult = {
  ...{
    concurrency: 2,
    requests: 200,
    seconds: 2,
    requestsPerSecond: 100,
    isStable: true,
    clientShare: 0.1,
    backlog: 0,
  },
  latencyMs: { mean: 10, p50: 9, p90: 12, p95: 14, p99: 20, max: 31 },
  distribution: [
    [0.5, 9],
    [0.9, 12],
    [0.99, 20],
  ],
  failures: {},
  windows: [{ requestsPerSecond: 100, p50Ms: 9, p99Ms: 20 }],
};

test("a report has the figures and three charts, and asks for no other file", () => {
  const report = toReport([level, { ...level, concurrency: 4 }], { address: "grpc://h:1/a", lines: ["8 cores"] });
  expect(report.match(/<svg /g)).toHaveLength(3);
  expect(report).toContain("<td>2</td><td>100</td><td>9.00</td><td>12.0</td><td>20.0</td>");
  expect(report).toContain('<li style="--colour:#d55e00">concurrency 4</li>');
  expect(report).not.toMatch(/src=|href=|url\(|<script|NaN|undefined/);
});

test("names and failures of a server are texts of the report, whatever they are", () => {
  const failures = { '<img src=x onerror="alert(1)">': 3 };
  const { latencyMs, ...unanswered } = { ...level, failures, distribution: [] };
  const report = toReport([unanswered], { address: 'grpc://h:1/"><script>', lines: [] });
  expect(report).not.toMatch(/<img|<script/);
  expect(report).toContain("Failed 3 times: &lt;img src=x onerror=&quot;alert(1)&quot;&gt;");
});

test("axes are marked at round numbers, and at nines", () => {
  const span = { from: 0, to: 100 };
  expect(linearAxis(37, span).marks.map(({ text }) => text)).toEqual(["0", "10", "20", "30"]);
  expect(linearAxis(0.4, span).marks.map(({ text }) => text)).toEqual(["0", "0.1", "0.2", "0.3", "0.4"]);
  expect(linearAxis(0, span).place(0)).toBe(0);
  expect(shareAxis(0.99, span).marks.map(({ place, text }) => [text, Math.round(place)])).toEqual([
    ["50 %", 0],
    ["90 %", 41],
    ["99 %", 100],
  ]);
});
