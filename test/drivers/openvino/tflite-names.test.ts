import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { predict } from "../predict.ts";
import { formatModel } from "../tensorflow/format-models.ts";
import { floats, loadModel } from "./open-model.ts";
import { openvinoRuntime } from "./openvino-runtime.ts";

const missing = await missingRuntime("Names of .tflite models in OpenVINO", openvinoRuntime);

const TWO_INPUTS = formatModel("lite_two_inputs/model.tflite");
const row = floats([1, 3], 1, 2, 3);

describe.skipIf(missing !== undefined)("a .tflite model has for clients, as with the tensorflow driver,", () => {
  it.each([
    ["the names of its signature", "lite_two_inputs"],
    ["those of the signatures in its metadata", "lite_signature_defs"],
  ])("%s", async (_, name) => {
    const model = await loadModel(formatModel(`${name}/model.tflite`));
    const { inputs, outputs } = model.signatures.serving_default!;
    const namesOf = (specs = inputs) => specs?.map((spec) => spec.name).sort();
    expect([namesOf(), namesOf(outputs)]).toEqual([
      ["a", "b"],
      ["product", "sum"],
    ]);
    expect(await predict(model, { a: row, b: row }, { outputs: ["product"] })).toEqual({
      product: floats([1, 3], 1, 4, 9),
    });
  });

  it("other names where options choose them, which may be the graph's", async () => {
    const model = await loadModel(TWO_INPUTS, {
      inputs: "serving_default_b:0,a",
      outputs: "sum",
      shape: '{"a": "(1,3)", "serving_default_b:0": "(1,3)"}',
    });
    expect(await predict(model, { a: row, "serving_default_b:0": row })).toEqual({ sum: floats([1, 3], 2, 4, 6) });
  });

  it("those of a mapping_config.json, which may be for either", async () => {
    const folder = tempFolder();
    const path = join(folder, "model.tflite");
    copyFileSync(TWO_INPUTS, path);
    const mapping = { inputs: { a: "left", "serving_default_b:0": "right" }, outputs: { sum: "both" } };
    writeFileSync(join(folder, "mapping_config.json"), JSON.stringify(mapping));
    const model = await loadModel(path);
    expect((await predict(model, { left: row, right: row })).both).toEqual(floats([1, 3], 2, 4, 6));
  });
});
