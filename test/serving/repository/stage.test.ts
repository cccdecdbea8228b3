import { describe, expect, test } from "vitest";
import { pairModels } from "../../../src/serving/repository/stage.ts";

/** `d:NAME` is a driver, `p:PATH` a path. */
const flags = (text: string) =>
  text
    .split(" ")
    .filter(Boolean)
    .map((word) => ({ flag: word.startsWith("d:") ? "driver" : "model-path", value: word.slice(2) }) as const);

describe("drivers and paths pair by position", () => {
  test.each([
    ["d:onnx p:a.onnx", [{ driver: "onnx", path: "a.onnx" }]],
    [
      "d:onnx d:null p:a.onnx p:any",
      [
        { driver: "onnx", path: "a.onnx" },
        { driver: "null", path: "any" },
      ],
    ],
    ["p:a.onnx p:b.onnx", [{ path: "a.onnx" }, { path: "b.onnx" }]],
    ["d:null d:null", [{ driver: "null" }, { driver: "null" }]],
    ["d:./mine.ts", [{ driver: "./mine.ts" }]],
    ["d:null d:onnx p:a.onnx", [{ driver: "null" }, { driver: "onnx", path: "a.onnx" }]],
    ["p:a.onnx d:onnx d:null", [{ driver: "onnx", path: "a.onnx" }, { driver: "null" }]],
  ])("%s", (text, models) => {
    expect(pairModels(flags(text))).toEqual(models);
  });
});

test("a path on a volume that is not a path is refused", () => {
  expect(() => pairModels(flags("p:pvc://claim/../a"))).toThrow(/cannot be a file's below its folder/);
});

describe("what cannot be paired is refused with the counts", () => {
  test.each([
    [
      "",
      "No model is given; expected its path, such as kserving model.onnx, a hook file, a folder of models, or --config",
    ],
    ["d:onnx p:a p:b", "--model-path is given 2 times, --driver once; give each path its driver"],
    [
      "d:onnx d:onnx p:a",
      "--driver is given 2 times and needs 2 paths (only null does without), but --model-path is given once.",
    ],
  ])("%s", (text, message) => {
    expect(() => pairModels(flags(text))).toThrow(message);
  });
});
