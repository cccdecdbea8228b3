import { expect, test } from "vitest";
import { toStartTable } from "../../../src/cli/status-reporter/model-table.ts";
import type { StageSummary } from "../../../src/server/stage-summary.ts";

const face: StageSummary = {
  index: 1,
  driver: "onnx",
  path: "face.onnx",
  inputs: [
    { name: "image", dtype: "float32", shape: [{ min: 1, max: 8 }, 3, -1, -1] },
    { name: "scale", dtype: "float32", shape: [] },
  ],
  outputs: [{ name: "boxes", dtype: "float32" }],
  loadMs: 81.4,
};
const echo: StageSummary = { index: 2, driver: "null", path: "", inputs: undefined, outputs: undefined, loadMs: 0.1 };

test("each stage is a line where the terminal is wide", () => {
  expect(toStartTable([face, echo], 120)).toBe(
    [
      "  #  Driver  Model      Inputs → outputs                                            Loaded in",
      "  1  onnx    face.onnx  image float32[1..8,3,?,?], scale float32[] → boxes float32  81 ms",
      "  2  null    -          any → any                                                   0 ms",
    ].join("\n"),
  );
});

test("features of an input are named, the first of many", () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `f${index}`);
  const table = (count: number) => {
    const input = { name: "input", dtype: "float64" as const, shape: [-1, count], features: names(count) };
    return toStartTable([{ ...echo, inputs: [input] }], 160);
  };
  expect(table(2)).toContain("input float64[?,2] (f0, f1) → any");
  expect(table(30)).toContain("input float64[?,30] (f0, f1, f2, f3, f4, f5, f6, f7, 22 more) → any");
});

test("long lists go on in further lines, broken between inputs, and no line is wider than the terminal", () => {
  const lines = toStartTable([face, echo], 76).split("\n");
  expect(lines.map((line) => line.trim())).toEqual([
    expect.stringMatching(/^# /),
    expect.stringMatching(/^1 .* image float32\[1\.\.8,3,\?,\?\], +81 ms$/),
    "scale float32[] → boxes float32",
    expect.stringMatching(/^2 /),
  ]);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(76);
});
