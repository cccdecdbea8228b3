import { expect, test } from "vitest";
import { toModelTable } from "../../../src/cli/status-reporter/model-table.ts";

const emotion = {
  ...{ name: "emotion", version: "12", drivers: ["onnx", "null"], state: "AVAILABLE", problem: "" },
  inputs: [{ name: "x", dtype: "float32" as const, shape: [-1, 64] }],
  outputs: undefined,
};
const broken = {
  ...{ name: "broken", version: "1", drivers: [], state: "END", problem: "It is cut short." },
  inputs: undefined,
  outputs: undefined,
};

test("each version is a line, and the reasons of those that do not answer stand below", () => {
  const letters = { ...emotion, name: "letters", decoupled: true };
  expect(toModelTable([emotion, letters, broken], 120).split("\n")).toEqual([
    "  Model    Version  Driver       Inputs → outputs                State",
    "  emotion  12       onnx → null  x float32[?,64] → any           AVAILABLE",
    "  letters  12       onnx → null  x float32[?,64] → any in parts  AVAILABLE",
    "  broken   1        -            -                               END",
    "",
    "  broken version 1: It is cut short.",
  ]);
});
