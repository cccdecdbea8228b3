import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTensor } from "../../../../src/tensor/tensor.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { predict } from "../../predict.ts";
import { formatModel, loadTensorflow, openTensorflow } from "../format-models.ts";

const MODEL = formatModel("lite_signature_defs/model.tflite");
const row = createTensor("float32", [1, 3], Float32Array.of(1, 2, 3));

/** A copy of the model whose input `right` is for another tensor, with a name of the same length. */
function changed(from: string, to: string): string {
  const bytes = readFileSync(MODEL);
  bytes.write(to, bytes.indexOf(from, bytes.indexOf("right")), "latin1");
  return join(tempFolder({ "model.tflite": bytes }), "model.tflite");
}

describe("signatures in the metadata of a .tflite file", () => {
  it("give inputs and outputs their names, and the model several signatures", async () => {
    const { signatures } = await loadTensorflow(MODEL);
    const spec = (name: string, nativeName: unknown) => ({ name, nativeName, dtype: "float32", shape: [-1, 3] });
    expect(Object.keys(signatures).sort()).toEqual(["only_sum", "serving_default"]);
    expect(signatures.only_sum).toMatchObject({
      method: "regress",
      inputs: [spec("left", "serving_default_a:0"), spec("right", "serving_default_b:0")],
      outputs: [spec("outputs", expect.any(String))],
    });
    expect(signatures.serving_default?.inputs?.map(({ name }) => name)).toEqual(["a", "b"]);
  });

  it("compute the outputs that are asked for", async () => {
    const model = await loadTensorflow(MODEL);
    const product = await predict(model, { a: row, b: row }, { outputs: ["product"] });
    expect(Object.keys(product)).toEqual(["product"]);
    expect(Array.from(product.product?.data as Float32Array)).toEqual([1, 4, 9]);
  });

  it.each([
    [
      "name a tensor that is not there",
      "serving_default_b:0",
      "serving_default_c:0",
      /name the tensor "serving_default_c:0"/,
    ],
    ["leave an input out", "serving_default_b:0", "serving_default_a:0", /leave out the input "serving_default_b:0"/],
  ])("refuse a model where they %s", async (_, from, to, text) => {
    await expect(openTensorflow(changed(from, to))).rejects.toThrow(text);
  });
});
