import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { startLiteRtFrom } from "../../../../src/drivers/tensorflow/tflite/litert.ts";
import { DEFAULT_SIGNATURE } from "../../../../src/tensor/signature/signature.ts";
import { createTensor } from "../../../../src/tensor/tensor.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
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

const rows = (...values: number[][]) => createTensor("float32", [values.length, 3], Float32Array.from(values.flat()));
const one = rows([1, 2, 3]);
const two = rows([4, 5, 6], [7, 8, 9]);

await describeDriver({
  name: "tensorflow",
  modelPath: formatModel("lite_two_inputs/model.tflite"),
  samples: [
    { inputs: { a: one, b: one }, expected: { sum: rows([2, 4, 6]), product: rows([1, 4, 9]) } },
    {
      inputs: { a: two, b: two },
      expected: { sum: rows([8, 10, 12], [14, 16, 18]), product: rows([16, 25, 36], [49, 64, 81]) },
    },
  ],
});

describe("the tflite engine", () => {
  it.each(formatModels("tflite"))("answers as Python does with %s", (file) => expectAsInPython(file));

  it("describes a model's inputs and outputs by the names and dtypes of its signature", async () => {
    const { signatures } = await loadTensorflow(formatModel("lite_int8/model.tflite"));
    expect(signatures).toEqual({
      [DEFAULT_SIGNATURE]: {
        inputs: [{ name: "image", dtype: "int8", shape: [1, 6, 6, 3] }],
        outputs: [{ name: "output_0", dtype: "int8", shape: [1, 3] }],
      },
    });
  });

  it("takes a shape of fixed sizes that differs by dimensions of 1 alone, and no other", async () => {
    const file = "lite_int8/model.tflite";
    const model = await loadTensorflow(formatModel(file));
    const { inputs, outputs } = formatCase(file);
    const pixels = inputs.image?.data as Int8Array<ArrayBuffer>;
    const shaped = (...shape: number[]) => predict(model, { image: createTensor("int8", shape, pixels) });
    for (const shape of [
      [6, 6, 3],
      [1, 6, 6, 1, 3],
    ]) {
      expect(await shaped(...shape)).toMatchObject({ output_0: { shape: outputs.output_0?.shape } });
    }
    await expect(shaped(1, 6, 18)).rejects.toThrow('Input "image" has shape [1,6,18]; the model takes [1,6,6,3].');
  });

  it("gives each row the same answer whatever the number of rows", async () => {
    const model = await loadTensorflow(formatModel("lite_open_rows/model.tflite"));
    const { inputs, outputs } = formatCase("lite_open_rows/model.tflite");
    const data = inputs.image?.data as Float32Array;
    for (const count of [1, 2, 3, 4, 5, 6, 1]) {
      const pixels = Float32Array.from({ length: count * 108 }, (_, index) => data[index % 108] as number);
      const { output_0 } = await predict(model, { image: createTensor("float32", [count, 6, 6, 3], pixels) });
      expect(output_0?.shape).toEqual([count, 3]);
      for (let index = 0; index < 3 * count; index++) {
        expect(output_0?.data[index]).toBeCloseTo(outputs.output_0?.data[index % 3] as number, 6);
      }
    }
  });

  it.each([
    ["numbers of rows that differ", { a: one, b: two }, 'Input "b" has 2 rows and input "a" has 1'],
    ["no rows", { a: rows(), b: rows() }, 'Input "b" has no rows; the model takes one or more.'],
  ])("refuses %s", async (_what, inputs, message) => {
    const model = await loadTensorflow(formatModel("lite_two_inputs/model.tflite"));
    const expected = { code: "invalid_argument", message: expect.stringContaining(message) };
    await expect(predict(model, inputs)).rejects.toMatchObject(expected);
  });

  it("refuses a number of rows that the model cannot compute, and goes on", async () => {
    const model = await loadTensorflow(formatModel("lite_one_row/model.tflite"));
    const { inputs, outputs } = formatCase("lite_one_row/model.tflite");
    const three = createTensor("float32", [3, 4], new Float32Array(12));
    for (let time = 0; time < 2; time++) {
      await expect(predict(model, { x: three })).rejects.toMatchObject({
        code: "invalid_argument",
        message: expect.stringContaining("The model does not take 3 rows at once: "),
      });
      expect((await predict(model, inputs)).y?.data).toEqual(outputs.y?.data);
    }
  });

  it("takes any number of rows where the converter did not say that the rank is known", async () => {
    const { signatures } = await loadTensorflow(formatModel("lite_unknown_rank/model.tflite"));
    expect(signatures[DEFAULT_SIGNATURE]?.inputs?.map(({ shape }) => shape)).toEqual([
      [-1, 3],
      [-1, 3],
    ]);
  });

  it("counts each request once with a model that keeps values, and does not try such a model", async () => {
    const model = await loadTensorflow(formatModel("lite_counter/model.tflite"));
    for (const sum of [1, 2, 3]) {
      expect((await predict(model, { x: rows([1, 2, 3]) })).y?.data).toEqual(rows([sum, 2 * sum, 3 * sum]).data);
    }
    expect(model.isPure).toBe(false);
    expect((await loadTensorflow(formatModel("lite_loop/model.tflite"))).isPure).toBe(true);
  });

  it("leaves no global variable behind", async () => {
    const before = Object.getOwnPropertyNames(globalThis);
    await loadTensorflow(formatModel("lite_loop/model.tflite"));
    expect(Object.getOwnPropertyNames(globalThis)).toEqual(before);
  });
});

describe("what the tflite engine refuses", () => {
  it.each([
    ["lite_text", 'Input "x" of the .tflite model is string, which'],
    ["lite_choice", 'The size of output "y" of the .tflite model depends on the values of the inputs'],
    ["lite_open_width", '"x" of the .tflite model has the shape [1,-1], of which'],
    [
      "lite_select_ops",
      "operators that TFLite leaves to TensorFlow: MatrixDeterminant. Convert it with TFLITE_BUILTINS",
    ],
    ["lite_custom_operator", "Encountered unresolved custom op: Betainc. Serve the SavedModel that it was made from"],
    ["lite_computed_shape", "the shape of an output is computed while the model runs."],
    ["lite_passed_on", 'gives back an input unchanged as "same"'],
    ["lite_half_rows", 'Output "y" of the .tflite model has 1 rows for 2 of its inputs'],
    ["lite_more_rows", 'Output "y" of the .tflite model has 6 rows for 2 of its inputs'],
  ])("a model such as %s", async (name, message) => {
    await expectRefusal(formatModel(`${name}/model.tflite`), message);
  });

  it("what was compiled for an accelerator", async () => {
    const content = readFileSync(formatModel("lite_custom_operator/model.tflite"));
    content.write("ethos-u", content.indexOf("Betainc"));
    const path = `${tempFolder({ "model.tflite": content })}/model.tflite`;
    await expectRefusal(path, "was compiled for an Arm Ethos-U; serve the .tflite file that it was compiled from.");
  });

  it("an operator that neither LiteRT nor OpenVINO has, without advice to try OpenVINO", async () => {
    await expectRefusal(formatModel("lite_custom_operator/model.tflite"), /Betainc\..* made from\.$/);
    await expectRefusal(formatModel("lite_computed_shape/model.tflite"), /, or try --driver openvino\.$/);
  });

  it.each([20, 400, 1500, 2300])("a model of which only %d bytes are left", async (bytes) => {
    const content = readFileSync(formatModel("lite_float16_weights/model.tflite")).subarray(0, bytes);
    await expectRefusal(`${tempFolder({ "model.tflite": content })}/model.tflite`, "is damaged or cut short");
  });

  it("a model with a damaged table, in LiteRT's own words", async () => {
    const content = readFileSync(formatModel("lite_loop/model.tflite"));
    content.fill(0xff, content.length - 64);
    await expectRefusal(`${tempFolder({ "model.tflite": content })}/model.tflite`, /damaged|LiteRT cannot load/);
  });

  it("a signature that the model lacks", async () => {
    const path = formatModel("lite_loop/model.tflite");
    const message = 'The model has no signature "serving"; it has: serving_default.';
    await expect(openTensorflow(path, { model_signature: "serving" })).rejects.toMatchObject({ message });
  });

  it("to load without its package, saying how to get it", async () => {
    const absent = "no-such-package";
    await expect(startLiteRtFrom(() => import.meta.resolve(absent))).rejects.toMatchObject({
      code: "failed_precondition",
      message: ".tflite files need the package @litertjs/core. Run: npm install @litertjs/core",
    });
  });

  async function expectRefusal(path: string, message: string | RegExp): Promise<void> {
    const text = typeof message === "string" ? expect.stringContaining(message) : expect.stringMatching(message);
    await expect(openTensorflow(path)).rejects.toMatchObject({ code: "failed_precondition", message: text });
  }
});
