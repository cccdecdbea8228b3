import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTensor, type LoadedModel, loadModel, toNested } from "../../../src/tools/library/tensorflow.ts";

const at = (name: string) => `test/fixtures/tensorflow/${name}`;

describe("a SavedModel", () => {
  let model: LoadedModel;
  beforeAll(async () => {
    model = await loadModel(at("half_plus_two"));
  });
  afterAll(() => model.close());

  it("says what it takes and gives", () => {
    expect(model.signatures.serving_default?.inputs).toMatchObject([{ name: "x", dtype: "float32" }]);
  });

  it.each([
    ["a list", [1, 2.5], [2.5, 3.25]],
    ["a typed array, which takes the input's shape", Float32Array.of(1, 2.5), [[2.5], [3.25]]],
    ["a tensor", createTensor("float32", [1, 2], Float32Array.of(1, 2.5)), [[2.5, 3.25]]],
  ])("runs on %s", async (_, x, answer) => {
    const { y } = await model.predict({ x });
    expect(y && toNested(y, Number)).toEqual(answer);
  });

  it.each([
    ["another input", { z: [1] }, {}, 'The model has no input "z".'],
    ["no input", {}, {}, 'Input "x" is missing'],
    ["another dtype", { x: Int32Array.of(1) }, {}, 'Input "x" is int32; the model takes float32.'],
    ["a text", { x: ["a"] }, {}, 'Input "x" is bytes; the model takes float32.'],
    ["another signature", { x: [1] }, { signature: "serving_defualt" }, 'Did you mean "serving_default"?'],
    ["another output", { x: [1] }, { outputs: ["z"] }, "output tensor alias not found in signature: z"],
  ])("refuses %s", async (_, inputs, options, text) => {
    await expect(model.predict(inputs, options)).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining(text),
    });
  });
});

it("a model that is closed runs no more, and may be closed again", async () => {
  const model = await loadModel(at("half_plus_two"));
  await model.close();
  await model.close();
  await expect(model.predict({ x: [1] })).rejects.toThrow("The model is closed; load it again.");
});

it.each([
  ["a path that is not there", "nowhere", 'No model at "nowhere"'],
  ["a model of another format", "test/fixtures/models/half-plus-two.onnx", "half-plus-two.onnx"],
])("%s is refused", async (_, path, text) => {
  await expect(loadModel(path)).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringContaining(text),
  });
});
