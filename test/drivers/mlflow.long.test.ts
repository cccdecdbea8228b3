import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTensor } from "../../src/tensor/tensor.ts";
import { findPython } from "../helpers/find-python.ts";
import { missingPython } from "../helpers/missing-python.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { predict } from "./predict.ts";
import { loadModel } from "./python/load-model.ts";

const boosting = findPython("A folder of MLflow with XGBoost", ["xgboost", "pandas"]);
const variable = "KSERVING_TEST_PARTS";
const python = process.env[variable] ?? "python3";
const hasMlflow = missingPython("The mlflow driver", "mlflow.pyfunc", { python, variable }) === undefined;
const own = "test/fixtures/mlflow/own";
const texts = (...values: string[]) =>
  createTensor(
    "bytes",
    [values.length],
    values.map((value) => Buffer.from(value)),
  );

describe("a folder of MLflow", () => {
  it.skipIf(boosting === undefined)("answers with the classes of XGBoost's estimator, as MLflow does", async () => {
    const stages = [{ path: "test/fixtures/mlflow/boosted", options: { python: boosting ?? "" } }];
    const { httpUrl } = await startServer({ stages });
    const rows = [
      { age: 20, income: 1 },
      { age: 50, income: 40 },
    ];
    const forms = [
      { dataframe_records: rows },
      {
        dataframe_split: { columns: ["income", "age"], index: [0, 1], data: rows.map((row) => [row.income, row.age]) },
      },
    ];
    for (const form of forms) {
      const answer = await fetch(`${httpUrl}/invocations`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(form),
      });
      expect(await answer.json()).toEqual({ predictions: [0, 1] });
    }
  });
});

describe.skipIf(!hasMlflow)("the mlflow driver", () => {
  const options = { python, allow_pickle: "true" };

  it("runs a model of the user's own code on columns of the signature's types", async () => {
    const model = await loadModel("mlflow", own, { options });
    expect(model.signatures.serving_default?.suggestedInputs).toEqual([
      { name: "age", dtype: "int64", shape: [-1] },
      { name: "city", dtype: "bytes", shape: [-1] },
    ]);
    const age = createTensor("float64", [2], Float64Array.of(20, 30));
    const expected = { predict: createTensor("int64", [2], BigInt64Array.of(41n, 60n)) };
    expect(await predict(model, { age, city: texts("Rome", "Oslo") })).toEqual(expected);
    await expect(predict(model, { age })).rejects.toMatchObject({
      code: "invalid_argument",
      message: 'Input "city" is missing. The model takes age, city.',
    });
    await expect(predict(model, { age: texts("a"), city: texts("Rome") })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^The model refuses the inputs: MlflowException: /),
    });
  });

  it("leaves numbers that do not fit the signature's type to MLflow to refuse", async () => {
    const folder = tempFolder();
    cpSync(own, folder, { recursive: true });
    const description = readFileSync(`${own}/MLmodel`, "utf8").replace('"type": "long"', '"type": "integer"');
    writeFileSync(join(folder, "MLmodel"), description);
    const code = readFileSync(`${own}/mlflow_own.py`, "utf8").replace('"int64"', '"int32"');
    writeFileSync(join(folder, "mlflow_own.py"), code);
    const model = await loadModel("mlflow", folder, { options });
    const ages = (...values: number[]) => createTensor("float64", [values.length], Float64Array.from(values));
    const { predict: answers } = await predict(model, { age: ages(20, -3), city: texts("Oslo", "Rome") });
    expect(Array.from(answers?.data ?? [], Number)).toEqual([40, -5]);
    for (const age of [3e9, -3e9, 1.5, Number.NaN])
      await expect(predict(model, { age: ages(1, age), city: texts("Oslo", "Rome") })).rejects.toMatchObject({
        code: "invalid_argument",
        message: expect.stringMatching(/^The model refuses the inputs: MlflowException: /),
      });
  });

  it("refuses to run code that was not declared trustworthy, and a folder that MLflow cannot load", async () => {
    await expect(loadModel("mlflow", own, { options: { python } })).rejects.toThrow(/-o allow_pickle=true/);
    await expect(loadModel("mlflow", "test/fixtures/models", { options })).rejects.toThrow(/^MLflow .* cannot load/);
  });
});
