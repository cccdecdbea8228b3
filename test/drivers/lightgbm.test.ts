import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTensor } from "../../src/tensor/tensor.ts";
import { findPython } from "../helpers/find-python.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { warmPython } from "../helpers/warm-python.ts";
import { expectTensors } from "./expect-tensors.ts";
import { predict } from "./predict.ts";
import { columnsOf, makeEstimators } from "./python/estimators.ts";
import { loadModel } from "./python/load-model.ts";

const python = findPython("The lightgbm driver", ["lightgbm", "sklearn", "pandas"]);
const warm = warmPython(python, "pandas", "sklearn", "lightgbm");
const estimators = python === undefined ? undefined : makeEstimators(warm, "lightgbm");
const options = { python: warm };

describe.skipIf(estimators === undefined)("the lightgbm driver", () => {
  const { rows, pathOf, answersOf } = (estimators ?? {}) as ReturnType<typeof makeEstimators>;

  it.each([
    ["booster.lgb", {}],
    ["lightgbm.pkl", { allow_pickle: "true" }],
    ["stopped.lgb", {}],
    ["stopped-booster.pkl", { allow_pickle: "true" }],
    ["stopped-lightgbm.pkl", { allow_pickle: "true" }],
  ])("answers for %s what LightGBM answers", async (file, more) => {
    const model = await loadModel("lightgbm", pathOf(file), { options: { ...options, ...more } });
    expectTensors(await predict(model, { features: rows }), answersOf(file), 1e-7);
  });

  it("takes inputs by the names of the features, of which those that are not there have no values", async () => {
    const model = await loadModel("lightgbm", pathOf("named.lgb"), { options });
    const column = (name: string) => ({ name, dtype: "float64", shape: [-1] });
    expect(model.signatures.serving_default?.suggestedInputs).toEqual(["a", "b", "c"].map(column));
    const { a, b, c } = columnsOf(rows);
    expectTensors(await predict(model, { c: c!, a: a!, b: b! }), answersOf("named.lgb"), 1e-7);
    expectTensors(await predict(model, { c: c!, a: a! }), answersOf("named.lgb without b"), 1e-7);
    await expect(predict(model, { a: a!, d: b! })).rejects.toThrow('The model has no input "d". It has a, b, c.');
  });

  it("knows the number of features, and reports a wrong one with LightGBM's text", async () => {
    const model = await loadModel("lightgbm", pathOf("booster.lgb"), { options });
    expect(model.signatures.serving_default?.suggestedInputs).toEqual([
      { name: "input", dtype: "float64", shape: [-1, 3] },
    ]);
    const narrow = createTensor("float32", [1, 2], Float32Array.of(1, 2));
    await expect(predict(model, { x: narrow })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/number of features/),
    });
  });

  it("says what is wrong with a file that is no model", async () => {
    const broken = join(tempFolder(), "broken.bin");
    writeFileSync(broken, "no model");
    await expect(loadModel("lightgbm", broken, { options })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/^lightgbm \S+ cannot load the model: /),
    });
  });
});
