import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { findPython } from "../../helpers/find-python.ts";
import { missingPython } from "../../helpers/missing-python.ts";
import { shareServer } from "../../helpers/start-server.ts";
import { warmPython } from "../../helpers/warm-python.ts";

const python = findPython("Odd rows", ["sklearn", "lightgbm", "catboost", "pandas", "joblib"]);
const warm = warmPython(python, "joblib", "pandas", "lightgbm", "catboost", "sklearn.compose");
const variable = "KSERVING_TEST_PARTS";
const mlflowPython = process.env[variable] ?? "python3";
const lacksMlflow = missingPython("Odd rows of MLflow", "mlflow.pyfunc", { python: mlflowPython, variable });
const warmMlflow = warmPython(lacksMlflow === undefined ? mlflowPython : undefined, "mlflow.pyfunc");

/** Models of numbers, categories of which one has texts of digits and one the name of an argument, and truth. */
const MODELS = `
import os, sys
import catboost, joblib, lightgbm, numpy as np, pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

at = lambda name: os.path.join(sys.argv[1], name)
random = np.random.RandomState(0)
of = lambda *values: np.array(values, object)[random.randint(0, len(values), 200)]
frame = pd.DataFrame({"age": random.rand(200), "self": of("Paris", "Rome"), "zip": of("01234", "98765"), "member": random.rand(200) > 0.5, "size": random.rand(200)})
target = np.where((frame["self"] == "Rome") ^ (frame.zip == "01234"), "yes", "no")
columns = make_column_transformer((SimpleImputer(), ["age"]), (OneHotEncoder(), ["self", "zip", "member"]), remainder="passthrough")
joblib.dump(make_pipeline(columns, LogisticRegression()).fit(frame, target), at("columns.joblib"))
lenient = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["self"]), (OneHotEncoder(), ["zip"]))
joblib.dump(make_pipeline(lenient, LogisticRegression()).fit(frame[["self", "zip"]], target), at("lenient.joblib"))
silent = make_column_transformer((FunctionTransformer(pd.DataFrame.isin, kw_args={"values": ["01234", "A1"]}), ["zip"]), remainder="passthrough")
joblib.dump(LogisticRegression().fit(frame[["age"]], target), at("one.joblib"))
joblib.dump(make_pipeline(silent, LogisticRegression()).fit(frame[["age", "zip"]], target), at("silent.joblib"))
categories = frame.astype({"self": "category", "zip": "category"})
lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1).fit(categories, target).booster_.save_model(at("columns.lgb"))
options = {"iterations": 5, "depth": 2, "verbose": False, "thread_count": 1, "allow_writing_files": False}
catboost.CatBoostClassifier(cat_features=["self", "zip"], **options).fit(frame.astype({"member": float}), target).save_model(at("columns.cbm"))
`;

/** Tells each column with its type and values. */
const TELLING = `import mlflow

class Own(mlflow.pyfunc.PythonModel):
    def predict(self, context, model_input, params=None):
        return [f"{model_input[name].dtype} {model_input[name].tolist()}" for name in ("since", "member")]

mlflow.models.set_model(Own())
`;

/** For all tests. */
const folder = mkdtempSync(join(tmpdir(), "kserving-columns-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function makeModels(command: string): void {
  writeFileSync(join(folder, "make.py"), MODELS);
  execFileSync(command, [join(folder, "make.py"), folder], { stdio: ["ignore", "ignore", "inherit"] });
  const place = join(folder, "mlflow");
  cpSync("test/fixtures/mlflow/own", place, { recursive: true });
  const types = { since: "datetime", member: "boolean" };
  const columns = Object.entries(types).map(([name, type]) => ({ type, name, required: true }));
  const before = readFileSync(join(place, "MLmodel"), "utf8");
  writeFileSync(join(place, "MLmodel"), before.replace(/ inputs: '[^']*'/, ` inputs: '${JSON.stringify(columns)}'`));
  writeFileSync(join(place, "mlflow_own.py"), TELLING);
}

const serve = shareServer(() => {
  makeModels(warm);
  const of = (driver: string, file: string, options: Record<string, string>) => ({
    stages: [{ driver, path: join(folder, file), options }],
  });
  const own = { python: warm };
  return {
    models: {
      sklearn: of("sklearn", "columns.joblib", { ...own, allow_pickle: "true" }),
      lenient: of("sklearn", "lenient.joblib", { ...own, allow_pickle: "true" }),
      one: of("sklearn", "one.joblib", { ...own, allow_pickle: "true" }),
      silent: of("sklearn", "silent.joblib", { ...own, allow_pickle: "true" }),
      lightgbm: of("lightgbm", "columns.lgb", own),
      catboost: of("catboost", "columns.cbm", own),
      mlflow: of("mlflow", "mlflow", { python: warmMlflow, allow_pickle: "true" }),
    },
  };
});

async function post(model: string, body: unknown) {
  const isCsv = typeof body === "string";
  const answer = await fetch(`${(await serve()).httpUrl}/predict/${model}`, {
    method: "POST",
    body: isCsv ? body : JSON.stringify(body),
    headers: { "content-type": isCsv ? "text/csv" : "application/json" },
  });
  return { status: answer.status, json: JSON.parse(await answer.text()) };
}

/** The first output of an answer, or the text of a refusal with its status. */
async function ask(model: string, body: unknown): Promise<unknown> {
  const { status, json } = await post(model, body);
  return status === 200 ? Object.values(json).at(-1) : `${status} ${json.error}`;
}

const ROW = { age: 0.5, self: "Rome", zip: "01234", member: true, size: 1 };
const COLUMNS = Object.fromEntries(Object.entries(ROW).map(([name, value]) => [name, [value, value]]));
const CSV = "age,self,zip,member,size\n";

describe.skipIf(python === undefined || lacksMlflow !== undefined)("odd rows", { timeout: 120_000 }, () => {
  it.each(["sklearn", "lightgbm", "catboost"])("of %s are read alike from JSON and CSV", async (model) => {
    const rows = [ROW, { ...ROW, age: null }, { ...ROW, zip: "98765", member: false }];
    const expected = await ask(model, rows);
    expect(expected).toHaveLength(3);
    const lines = "0.5,Rome,01234,true,1\n,Rome,01234,True,1\n0.5,Rome,98765,0,1\n";
    expect(await ask(model, CSV + lines)).toEqual(expected);
    expect(await ask(model, lines)).toEqual(expected);
    const columns = Object.keys(ROW).map((name) => [name, rows.map((row) => row[name as keyof typeof row])]);
    expect(await ask(model, Object.fromEntries(columns))).toEqual(expected);
    // Truth and numbers are one kind to them.
    const alike = await ask(model, [ROW, ROW]);
    expect(await ask(model, [ROW, { ...ROW, member: 1 }])).toEqual(alike);
    expect(await ask(model, [{ ...ROW, member: 1 }, ROW])).toEqual(alike);
  });

  it("of a model that does not tell of its texts have them in quotes, as in JSON", async () => {
    const rows = [
      { age: 0.5, zip: "01234" },
      { age: 0.25, zip: "98765" },
      { age: 0.25, zip: "A1" },
    ];
    const expected = await ask("silent", rows);
    expect(expected).toHaveLength(3);
    const lines = '0.5,"01234"\n0.25,"98765"\n0.25,"A1"\n';
    expect(await ask("silent", lines)).toEqual(expected);
    expect(await ask("silent", `"age","zip"\n${lines}`)).toEqual(expected);
    expect(await ask("silent", `"age","zip"\n${lines.replace(/^[^,]+/gm, '"$&"')}`)).toEqual(expected);
  });

  it.each(["lightgbm", "catboost"])("of %s may lack truth, and any other value", async (model) => {
    for (const name of Object.keys(ROW)) expect(await ask(model, [ROW, { ...ROW, [name]: null }])).toHaveLength(2);
    const empty = Object.fromEntries(Object.keys(ROW).map((name) => [name, null]));
    expect(await ask(model, [empty])).toHaveLength(1);
  });

  it.each<[string, unknown, string]>([
    ["an unknown category", [ROW, { ...ROW, self: "Oslo" }], `Row 2, "self": the value is 'Oslo'; the model knows`],
    ["a missing one", `${CSV}1,Rome,,true,1\n`, 'Row 1, "zip": the value is missing; the model knows 01234, 98765.'],
    [
      "an empty one among texts of digits",
      "1,Rome,01234,true,1\n1,Rome,,true,1\n",
      'Row 2, "zip": the value is missing',
    ],
    ["a missing number", [{ ...ROW, size: null, age: null }], 'there are some in "age" (row 1), "size" (row 1).'],
    ["missing truth", [ROW, { ...ROW, member: null }], 'there are some in "member" (row 2).'],
    [
      "a text for a number",
      `${CSV}1,Rome,01234,true,1\nold,Rome,01234,true,1\n`,
      'Row 2, "age": the value is "old"; expected a number (float64).',
    ],
    ["a number for a text", [ROW, { ...ROW, zip: 7 }], 'Row 2, "zip": the value is 7; expected a text.'],
    ["a number above a text", [{ ...ROW, zip: 7 }, ROW], 'Row 1, "zip": the value is 7; expected a text.'],
    ["a text above a number", { ...COLUMNS, age: ["old", 1] }, 'Row 1, "age": the value is "old"; expected a number'],
    [
      "a misspelt column",
      [ROW, { ...ROW, zip: undefined, zpi: "7" }],
      'Row 2 has the column "zpi"; expected age, self,',
    ],
    ["a row without columns", [{}], 'Input "age" is missing. The model takes age, self, zip, member, size.'],
    ["a short row", [Object.values(ROW), [1]], "Row 2 has 1 value; the model has 5 columns: age, self, zip,"],
    ["short rows", [Object.values(ROW).slice(1)], "Row 1 has 4 values; the model has 5 columns: age, self, zip,"],
  ])("with %s are refused with their row and column", async (_, rows, message) => {
    expect(await ask("sklearn", rows)).toEqual(expect.stringMatching(/^400 /));
    expect(await ask("sklearn", rows)).toEqual(expect.stringContaining(message));
  });

  it("are refused for the category that the encoder names, and not for one that another ignores", async () => {
    const expected = `400 Row 2, "zip": the value is '7'; the model knows 01234, 98765.`;
    const row = { self: "Oslo", zip: "01234" };
    expect(await ask("lenient", [row, { ...row, zip: "7" }])).toBe(expected);
    expect(await ask("lenient", [row])).toHaveLength(1);
  });

  it("of one column of another name are refused with the name that was meant, and rows without names are taken", async () => {
    const meant = '400 The model has no input "agee". Did you mean "age"? It has age.';
    for (const body of [[{ agee: 1 }], { agee: [1] }, "agee\n1\n"]) expect(await ask("one", body)).toBe(meant);
    const several = await ask("sklearn", [{ agee: 1 }]);
    expect(several).toBe('400 The model has no input "agee". Did you mean "age"? It has age, self, zip, member, size.');
    for (const body of [[{ age: 1 }], { age: [1] }, "age\n1\n", [[1]]]) expect(await ask("one", body)).toHaveLength(1);
  });

  it.each([
    ["sklearn", [ROW, { ...ROW, self: "Romw" }], { field: "self", expected: "Paris, Rome", did_you_mean: "Rome" }],
    ["sklearn", [{ ...ROW, zip: null }], { field: "zip", expected: "01234, 98765" }],
    ["sklearn", [{ ...ROW, size: null }], { field: "size", expected: "float64" }],
    ["sklearn", { ...COLUMNS, age: [1] }, { reason: "WRONG_SHAPE", field: "self", expected: "[1]" }],
    ["mlflow", [{ since: "soon", member: true }], { field: "since", expected: expect.stringContaining("2020-01-31") }],
  ])("that %s refuses have a hint for programs: %j", async (model, rows, hint) => {
    const { reason, field, expected, did_you_mean } = (await post(model, rows)).json;
    expect({ reason, field, expected, did_you_mean }).toEqual({
      ...{ reason: "WRONG_DTYPE", did_you_mean: undefined },
      ...hint,
    });
  });

  it("of MLflow have dates of any zone and truth that is missing, and are refused without being told again", async () => {
    const rows = [
      { since: "2020-01-31", member: true },
      { since: "2020-01-31T12:30:00+02:00", member: null },
    ];
    expect(await ask("mlflow", rows)).toEqual([
      "datetime64[ns] [Timestamp('2020-01-31 00:00:00'), Timestamp('2020-01-31 10:30:00')]",
      "object [True, nan]",
    ]);
    expect(await ask("mlflow", "since,member\n2020-01-31,false\n,1\n")).toEqual([
      "datetime64[ns] [Timestamp('2020-01-31 00:00:00'), NaT]",
      "bool [False, True]",
    ]);
    expect(await ask("mlflow", [{ since: null, member: true }])).toEqual(["datetime64[ns] [NaT]", "bool [True]"]);
    expect(await ask("mlflow", [{ since: "01/31/2020", member: true }])).toEqual([
      "datetime64[ns] [Timestamp('2020-01-31 00:00:00')]",
      "bool [True]",
    ]);
    expect(await ask("mlflow", [{ since: "soon", member: true }])).toMatch(/^400 Row 1, "since": the value is 'soon'/);
    expect(await ask("mlflow", [{}])).toMatch(/^400 Input "since" is missing/);
    const refused = await ask("mlflow", [{ since: "2020-01-31", member: 7 }]);
    expect(refused).toMatch(/^400 The model refuses the inputs: Incompatible input types for column member/);
  });
});
