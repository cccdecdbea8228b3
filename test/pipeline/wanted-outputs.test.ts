import { describe, expect, test } from "vitest";
import { assertOutputs, pickOutputs } from "../../src/pipeline/wanted-outputs.ts";
import { toTensors } from "../../src/tensor/plain-value.ts";
import { run } from "../helpers/run-pipeline.ts";
import { startHookThreads } from "../helpers/start-hook-threads.ts";

const tensors = toTensors({ a: 1, b: 2 });
const missing = {
  code: "invalid_argument",
  message: "output tensor alias not found in signature: c Outputs expected to be in the set {a,b}.",
};

test("outputs are picked in the order that was asked for, and one that is not there is named", () => {
  expect(Object.entries(pickOutputs(tensors, ["b", "a"]))).toEqual([
    ["b", tensors.b],
    ["a", tensors.a],
  ]);
  expect(() => pickOutputs(tensors, ["c"])).toThrow(expect.objectContaining(missing));
  expect(() => pickOutputs(tensors, ["toString"])).toThrow(/not found in signature: toString/);
});

test("outputs are checked against what a signature declares, and not where it declares nothing", () => {
  const specs = [
    { name: "a", dtype: "int32" },
    { name: "b", dtype: "int32" },
  ] as const;
  expect(() => assertOutputs(["a"], specs)).not.toThrow();
  expect(() => assertOutputs(undefined, specs)).not.toThrow();
  expect(() => assertOutputs(["c"], undefined)).not.toThrow();
  expect(() => assertOutputs(["c"], specs)).toThrow(expect.objectContaining(missing));
});

describe("an output that the model lacks", () => {
  const models = [{ driver: "onnx", path: "test/fixtures/models/half-plus-two.onnx" }];

  test("is the client's fault, though a hook stands before the model", async () => {
    const servable = await startHookThreads("export const preprocess = (inputs: any) => inputs;", { models });
    const inputs = { kind: "tensors", tensors: toTensors({ x: [1] }, () => "float32") } as const;
    await expect(run(servable, inputs, { outputs: ["nope"] })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "output tensor alias not found in signature: nope Outputs expected to be in the set {y}.",
    });
  });
});
