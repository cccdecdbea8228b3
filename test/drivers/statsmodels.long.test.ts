import { describe, expect, it } from "vitest";
import { createTensor } from "../../src/tensor/tensor.ts";
import { findPython } from "../helpers/find-python.ts";
import { warmPython } from "../helpers/warm-python.ts";
import { expectTensors } from "./expect-tensors.ts";
import { predict } from "./predict.ts";
import { makeEstimators } from "./python/estimators.ts";
import { loadModel } from "./python/load-model.ts";

const python = findPython("The statsmodels driver", ["statsmodels"]);
const warm = warmPython(python, "pandas", "statsmodels.api", "statsmodels.formula.api");
const estimators = python === undefined ? undefined : makeEstimators(warm, "statsmodels");
const options = { python: warm, allow_pickle: "true" };
const steps = (value: number) => ({ steps: createTensor("int64", [], BigInt64Array.of(BigInt(value))) });
const size = createTensor("float32", [2], Float32Array.of(1, 2));
const kind = createTensor("bytes", [2], [Buffer.from("no"), Buffer.from("yes")]);

describe.skipIf(estimators === undefined)("the statsmodels driver", () => {
  const { rows, pathOf, answersOf } = (estimators ?? {}) as ReturnType<typeof makeEstimators>;
  const load = (file: string) => loadModel("statsmodels", pathOf(file), { options });

  it("answers what statsmodels answers for rows, for a formula's variables and for a time series", async () => {
    expectTensors(await predict(await load("ols.pickle"), { rows }), answersOf("ols.pickle"), 1e-6);
    const formula = await load("formula.pickle");
    expectTensors(await predict(formula, { size, kind }), answersOf("formula.pickle"), 1e-6);
    expectTensors(await predict(await load("arima.pickle"), steps(3)), answersOf("arima.pickle"), 1e-6);
    expect(formula.signatures.serving_default?.suggestedInputs).toEqual([
      { name: "size", dtype: "float64", shape: [-1] },
      { name: "kind", dtype: "bytes", shape: [-1], categories: ["no", "yes"] },
    ]);
  });

  it("names what does not fit", async () => {
    const [ols, formula, arima] = await Promise.all(["ols.pickle", "formula.pickle", "arima.pickle"].map(load));
    const failures = [
      [ols, { x: size }, "The model takes rows of 3 values (x1, x2, x3); the input's shape is [2]."],
      [formula, { size }, 'Input "kind" is missing. The model takes size, kind.'],
      [
        formula,
        { size: createTensor("float32", [1, 2], Float32Array.of(1, 2)), kind },
        'Input "size" is a column, with one value for each row; its shape is [1, 2].',
      ],
      [arima, steps(0), "steps is how many values to forecast: one number from 1 to 100000."],
    ] as const;
    for (const [model, inputs, message] of failures) {
      await expect(predict(model as NonNullable<typeof model>, inputs)).rejects.toMatchObject({
        code: "invalid_argument",
        message,
      });
    }
    await expect(loadModel("statsmodels", pathOf("ols.pickle"), { options: { python: warm } })).rejects.toThrow(
      "-o allow_pickle=true",
    );
  });
});
