import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTensor } from "../../src/tensor/tensor.ts";
import { findPython } from "../helpers/find-python.ts";
import { missingPython } from "../helpers/missing-python.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { warmPython } from "../helpers/warm-python.ts";
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

/** Tells each column with its type and values. */
const TELLING = `    def predict(self, context, model_input, params=None):
        return [f"{name} {model_input[name].dtype} {model_input[name].tolist()}" for name in model_input.columns]


`;

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
  const warm = warmPython(python, "mlflow.pyfunc");
  const options = { python: warm, allow_pickle: "true" };

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
      message: expect.stringMatching(/^The model refuses the inputs: Incompatible input types for column age\b/),
    });
  });

  it("gives missing values as pandas has them in a column of that type, and leaves out what may be left out", async () => {
    const folder = tempFolder();
    cpSync(own, folder, { recursive: true });
    const types = { a: "double", f: "float", n: "long", s: "string", b: "boolean", d: "datetime", must: "long" };
    const columns = Object.entries(types).map(([name, type]) => ({ type, name, required: name === "must" }));
    const before = readFileSync(`${own}/MLmodel`, "utf8");
    const description = before.replace(/ inputs: '[^']*'/, ` inputs: '${JSON.stringify(columns)}'`);
    writeFileSync(join(folder, "MLmodel"), description);
    const code = readFileSync(`${own}/mlflow_own.py`, "utf8").replace(/( +def predict)[\s\S]*?\n\n/, TELLING);
    writeFileSync(join(folder, "mlflow_own.py"), code);
    const { httpUrl } = await startServer({ stages: [{ driver: "mlflow", path: folder, options }] });
    const ask = async (rows: readonly object[]) => {
      const answer = await fetch(`${httpUrl}/predict`, { method: "POST", body: JSON.stringify(rows) });
      const { predict: told, error } = JSON.parse(await answer.text());
      return answer.status === 200 ? told : [answer.status, error];
    };
    const whole = { a: 1, f: 2.5, n: 3, s: "x", b: 1, d: "2020-01-01", must: 7 };
    expect(await ask([whole, { ...whole, a: null, f: null, s: null, b: null, d: null }])).toEqual([
      "a float64 [1.0, nan]",
      "f float32 [2.5, nan]",
      "n int64 [3, 3]",
      "s object ['x', nan]",
      "b object [True, nan]",
      "d datetime64[ns] [Timestamp('2020-01-01 00:00:00'), NaT]",
      "must int64 [7, 7]",
    ]);
    const empty = { a: null, f: null, n: null, s: null, b: null, d: null, must: 7 };
    expect(await ask([empty])).toEqual([
      "a float64 [nan]",
      "f float32 [nan]",
      "s object [None]",
      "b object [None]",
      "d datetime64[ns] [NaT]",
      "must int64 [7]",
    ]);
    const noRows = Object.keys(types).map((name) => {
      const datatype = name === "s" || name === "d" ? "BYTES" : "FP64";
      return { name, datatype, shape: [0], data: [] };
    });
    const body = JSON.stringify({ inputs: noRows });
    const { outputs, error } = (await (
      await fetch(`${httpUrl}/v2/models/default/infer`, { method: "POST", body })
    ).json()) as {
      outputs?: { data: string[] }[];
      error?: string;
    };
    expect([error, outputs?.[0]?.data]).toEqual([
      undefined,
      [
        "a float64 []",
        "f float32 []",
        "n int64 []",
        "s object []",
        "b object []",
        "d datetime64[ns] []",
        "must int64 []",
      ],
    ]);
    expect(await ask([{ a: 1 }])).toEqual([400, expect.stringContaining('Input "must" is missing')]);
    expect(await ask([{ must: null }])).toEqual([400, expect.stringContaining("The model refuses the inputs")]);
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
        message: expect.stringMatching(/^The model refuses the inputs: Incompatible input types for column age\b/),
      });
  });

  it("refuses to run code that was not declared trustworthy, and a folder that MLflow cannot load", async () => {
    await expect(loadModel("mlflow", own, { options: { python: warm } })).rejects.toThrow(/-o allow_pickle=true/);
    await expect(loadModel("mlflow", "test/fixtures/models", { options })).rejects.toThrow(/^MLflow .* cannot load/);
  });
});
