import { describe, expect, it } from "vitest";
import { importOnnxRuntime } from "../../../src/drivers/onnx/onnx-runtime.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { encodeModel } from "../../fixtures/make/onnx-writer.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { predict } from "../predict.ts";
import { loadOnnx, modelPath } from "./load-onnx.ts";

const missing = await missingRuntime("Maps of scores", importOnnxRuntime);

/** Two columns of scores as maps by the classes 7 and -1, in this order. */
function numberedClasses(): string {
  const value = { elemType: "float32", shape: ["N", 2] } as const;
  const graph = {
    name: "classes",
    inputs: [{ name: "x", type: value }],
    outputs: [{ name: "scores", type: { sequence: { map: { key: "int64", value: { elemType: "float32" } } } } }],
    nodes: [
      {
        ...{ op: "ZipMap", domain: "ai.onnx.ml", inputs: ["x"], outputs: ["scores"] },
        attributes: { classlabels_int64s: [7n, -1n] },
      },
    ],
  } as const;
  const folder = tempFolder({ "model.onnx": encodeModel({ opset: 17, domains: { "ai.onnx.ml": 3 }, graph }) });
  return `${folder}/model.onnx`;
}

describe.skipIf(missing !== undefined)("a classifier's maps of scores", () => {
  it.each([
    ["texts", () => modelPath("map-output.onnx"), ["cat", "dog"]],
    ["numbers", numberedClasses, ["7", "-1"]],
  ])("are a tensor with a column for each class, of which the names are %s", async (_, path, labels) => {
    const model = await loadOnnx(path(), { engine: "native" });
    expect(model.signatures.serving_default?.outputs).toEqual([
      { name: "scores", dtype: "float32", shape: [-1, 2], labels },
    ]);
    const x = createTensor("float32", [3, 2], Float32Array.of(0.25, 0.75, 1, 0, 0.5, 0.5));
    expect(await predict(model, { x })).toEqual({ scores: x });
    expect(await predict(model, { x }, { outputs: ["scores"] })).toEqual({ scores: x });
    const nothing = createTensor("float32", [0, 2], new Float32Array());
    expect(await predict(model, { x: nothing })).toEqual({ scores: nothing });
  });
});
