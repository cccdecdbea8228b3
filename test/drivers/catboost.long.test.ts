import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTensor } from "../../src/tensor/tensor.ts";
import { findPython } from "../helpers/find-python.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { warmPython } from "../helpers/warm-python.ts";
import { expectTensors } from "./expect-tensors.ts";
import { predict } from "./predict.ts";
import { makeEstimators } from "./python/estimators.ts";
import { loadModel } from "./python/load-model.ts";

const python = findPython("The catboost driver", ["catboost"]);
const warm = warmPython(python, "catboost");
const estimators = python === undefined ? undefined : makeEstimators(warm, "catboost");
const options = { python: warm };

describe.skipIf(estimators === undefined)("the catboost driver", () => {
  const { rows, pathOf, answersOf } = (estimators ?? {}) as ReturnType<typeof makeEstimators>;

  it.each([
    ["classifier.cbm", {}],
    ["catboost.json", {}],
    ["catboost.pkl", { allow_pickle: "true" }],
  ])("answers for %s what CatBoost answers", async (file, more) => {
    const model = await loadModel("catboost", pathOf(file), { options: { ...options, ...more } });
    expectTensors(await predict(model, { features: rows }), answersOf(file), 1e-7);
  });

  it("refuses a wrong number of features, of which CatBoost would pass over what is too much", async () => {
    const model = await loadModel("catboost", pathOf("classifier.cbm"), { options });
    const wide = createTensor("float32", [1, 4], new Float32Array(4));
    await expect(predict(model, { x: wide })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "The model takes rows of 3 features; the input's shape is [1, 4].",
    });
  });

  it("says what is wrong with a file that is no model", async () => {
    const broken = join(tempFolder(), "broken.cbm");
    writeFileSync(broken, "no model");
    await expect(loadModel("catboost", broken, { options })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/^catboost \S+ cannot load the model: (?!catboost)/),
    });
  });
});
