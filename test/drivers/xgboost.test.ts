import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { createTensor } from "../../src/tensor/tensor.ts";
import { findPython } from "../helpers/find-python.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { warmPython } from "../helpers/warm-python.ts";
import { expectTensors } from "./expect-tensors.ts";
import { predict } from "./predict.ts";
import { columnsOf, makeEstimators } from "./python/estimators.ts";
import { loadModel } from "./python/load-model.ts";

const python = findPython("The xgboost driver", ["xgboost", "sklearn", "pandas"]);
const warm = warmPython(python, "pandas", "sklearn", "xgboost");
const estimators = python === undefined ? undefined : makeEstimators(warm, "xgboost");
const options = { python: warm };
/** One that has not imported what tests put in the place of its libraries. */
const own = { python: python ?? "" };

describe.skipIf(estimators === undefined)("the xgboost driver", () => {
  const { rows, pathOf, answersOf } = (estimators ?? {}) as ReturnType<typeof makeEstimators>;

  it.each(["booster.ubj", "booster.json", "stopped.json", "stopped.ubj", "stopped-booster.json"])(
    "answers for %s what XGBoost answers",
    async (file) => {
      const model = await loadModel("xgboost", pathOf(file), { options });
      expectTensors(await predict(model, { features: rows }), answersOf(file), 1e-7);
    },
  );

  it.each(["booster.pkl", "xgboost.pkl", "stopped.pkl"])(
    "answers for the trusted pickle %s what XGBoost answers",
    async (file) => {
      const model = await loadModel("xgboost", pathOf(file), { options: { ...options, allow_pickle: "true" } });
      expectTensors(await predict(model, { features: rows }), answersOf(file), 1e-7);
    },
  );

  it("reads a file beside which lie a description that is no text, and a module by the name of a library's", async () => {
    const files = { "model.ubj": readFileSync(pathOf("named.ubj")), MLmodel: Buffer.of(0xff, 0xfe) };
    const folder = tempFolder({ ...files, "pandas.py": "raise SystemError('it ran')" });
    const model = await loadModel("xgboost", join(folder, "model.ubj"), { options: own });
    const { a, b, c } = columnsOf(rows);
    expectTensors(await predict(model, { a: a!, b: b!, c: c! }), answersOf("named.ubj"), 1e-7);
  });

  it("says that the estimator which MLflow names beside a file needs scikit-learn", async () => {
    vi.stubEnv("PYTHONPATH", tempFolder({ "sklearn.py": "raise ImportError('not here')" }));
    const loading = loadModel("xgboost", "test/fixtures/mlflow/boosted/model.ubj", { options: own });
    await expect(loading.finally(() => vi.unstubAllEnvs())).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining("an XGBClassifier, which needs scikit-learn"),
    });
  });

  it("looks in the environments of the runtimes folder too", async () => {
    const manifest = JSON.stringify({ source: "venv", folder: dirname(dirname(python as string)), files: {} });
    vi.stubEnv("KSERVING_RUNTIMES_DIR", tempFolder({ "pytorch/1.0/runtime.json": manifest }));
    const model = await loadModel("xgboost", pathOf("booster.ubj")).finally(() => vi.unstubAllEnvs());
    expectTensors(await predict(model, { features: rows }), answersOf("booster.ubj"), 1e-7);
  });

  it("takes inputs by the names of the features, all of them", async () => {
    const model = await loadModel("xgboost", pathOf("named.ubj"), { options });
    const column = (name: string) => ({ name, dtype: "float32", shape: [-1] });
    expect(model.signatures.serving_default?.suggestedInputs).toEqual(["a", "b", "c"].map(column));
    const { a, b, c } = columnsOf(rows);
    expectTensors(await predict(model, { c: c!, a: a!, b: b! }), answersOf("named.ubj"), 1e-7);
    await expect(predict(model, { c: c!, a: a! })).rejects.toThrow('Input "b" is missing. The model takes a, b, c.');
  });

  it("knows the number of features, and reports a wrong one, which XGBoost would take for missing values", async () => {
    const model = await loadModel("xgboost", pathOf("booster.ubj"), { options });
    expect(model.signatures.serving_default?.suggestedInputs).toEqual([
      { name: "input", dtype: "float32", shape: [-1, 3] },
    ]);
    expect(model.hookArgs).toMatchObject({ model_inputs: { input: [-1, 3] } });
    const narrow = createTensor("float32", [1, 2], Float32Array.of(1, 2));
    await expect(predict(model, { x: narrow })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "The model takes rows of 3 features; the input's shape is [1, 2].",
    });
  });

  it("says what is wrong with a file that is no model", async () => {
    const broken = join(tempFolder(), "broken.bin");
    writeFileSync(broken, "no model");
    await expect(loadModel("xgboost", broken, { options })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/^The file is neither JSON nor UBJSON, .* read by XGBoost 3\.0 and before: /),
    });
  });
});
