import { readFileSync } from "node:fs";
import { memory } from "@tensorflow/tfjs-core";
import { describe, expect, it } from "vitest";
import { importH5wasm } from "../../../../src/drivers/tensorflow/keras/h5-thread.ts";
import { DEFAULT_SIGNATURE } from "../../../../src/tensor/signature/signature.ts";
import { createTensor } from "../../../../src/tensor/tensor.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { makeZip } from "../../../storage/runtimes/make-zip.ts";
import { describeDriver } from "../../driver-contract.ts";
import { predict } from "../../predict.ts";
import {
  expectAsInPython,
  formatCase,
  formatModel,
  formatModels,
  loadTensorflow,
  openTensorflow,
} from "../format-models.ts";

const { inputs, outputs } = formatCase("merging/model.h5");
const swapped = { a: inputs.b, b: inputs.a } as typeof inputs;

await describeDriver({
  name: "tensorflow",
  modelPath: formatModel("merging/model.h5"),
  samples: [
    { inputs, expected: outputs },
    { inputs: swapped, expected: outputs },
  ],
  tolerance: 1e-6,
});

describe("the keras engine", () => {
  it.each(formatModels("keras", "h5"))("answers as Keras does with %s", (file) => expectAsInPython(file));

  it("calls inputs and outputs as the layers are called, with the dtypes of the file", async () => {
    const { signatures, hookArgs } = await loadTensorflow(formatModel("embedding_with_mask/model.h5"));
    expect(signatures[DEFAULT_SIGNATURE]).toEqual({
      inputs: [{ name: "x", dtype: "int64", shape: [-1, 7] }],
      outputs: [{ name: "y", dtype: "float32", shape: [-1, 2] }],
    });
    expect(hookArgs).toMatchObject({ model_inputs: { x: [-1, 7] }, model_outputs: ["y"] });
  });

  it("refuses inputs of different numbers of rows", async () => {
    const model = await loadTensorflow(formatModel("two_inputs/model.keras"));
    const rows = { first: zeros(2, 4), second: zeros(3, 6) };
    await expect(predict(model, rows)).rejects.toMatchObject({
      code: "invalid_argument",
      message: 'Input "first" has 2 rows and input "second" has 3; the model takes as many of each.',
    });
  });

  it("refuses inputs without elements", async () => {
    const model = await loadTensorflow(formatModel("two_inputs/model.keras"));
    const rows = { first: zeros(0, 4), second: zeros(0, 6) };
    await expect(predict(model, rows)).rejects.toMatchObject({
      code: "invalid_argument",
      message: 'Input "first" has shape [0,4], so no elements; TensorFlow.js needs one at least.',
    });
  });

  it("keeps nothing of its predicts, and nothing once it is closed", async () => {
    const before = memory().numTensors;
    for (let round = 0; round < 3; round++) {
      const model = await openTensorflow(formatModel("bidirectional/model.keras"));
      const loaded = memory().numTensors;
      for (let run = 0; run < 3; run++) await predict(model, formatCase("bidirectional/model.keras").inputs);
      expect(memory().numTensors).toBe(loaded);
      await model.close();
      expect(memory().numTensors).toBe(before);
    }
  });
});

describe("what the keras engine refuses", () => {
  it.each([
    ["gru/model.h5", 9000, /"model.h5" is damaged or cut short: its HDF5 content cannot be read\.$/],
    ["gru/model.keras", 9000, /"model.keras" is not a \.keras archive: it is not a zip archive, or is damaged or cut/],
  ])("a %s of which only %d bytes are left", async (file, bytes, message) => {
    const name = file.split("/")[1] as string;
    const folder = tempFolder({ [name]: readFileSync(formatModel(file)).subarray(0, bytes) });
    await expectRefusal(`${folder}/${name}`, new RegExp(message.source.replace('"', '".*/')));
  });

  it("a .keras file whose weights are damaged", async () => {
    const archive = readFileSync(formatModel("dense/model.keras"));
    const start = archive.indexOf("\x89HDF", 0, "latin1");
    archive.fill(0, start, start + 64);
    await expectRefusal(`${tempFolder({ "model.keras": archive })}/model.keras`, /damaged/);
  });

  it("a .keras file whose texts are larger than any model's", async () => {
    const archive = makeZip({ "config.json": " ".repeat(65 * 2 ** 20), "metadata.json": "{}" });
    const path = `${tempFolder({ "model.keras": archive })}/model.keras`;
    await expectRefusal(path, /is not a \.keras archive: its config\.json claims 68157440 bytes\.$/);
  });

  it("a file of weights without a model", async () => {
    const archive = readFileSync(formatModel("dense/model.keras"));
    const start = archive.indexOf("\x89HDF", 0, "latin1");
    const path = `${tempFolder({ "weights.h5": archive.subarray(start) })}/weights.h5`;
    await expectRefusal(path, /has no model_config: it holds weights without a model.*model\.save\(\)/);
  });

  it("to load without h5wasm, saying how to get it", async () => {
    await expect(importH5wasm(() => import("no-such-package" as string))).rejects.toMatchObject({
      code: "failed_precondition",
      message: "Keras files (.h5, .keras) need the package h5wasm. Run: npm install h5wasm",
    });
  });

  async function expectRefusal(path: string, message: RegExp): Promise<void> {
    const expected = { code: "failed_precondition", message: expect.stringMatching(message) };
    await expect(openTensorflow(path)).rejects.toMatchObject(expected);
  }
});

function zeros(...shape: number[]) {
  return createTensor("float32", shape, new Float32Array(shape.reduce((a, b) => a * b)));
}
