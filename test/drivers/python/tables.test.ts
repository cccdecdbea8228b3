import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { findPython } from "../../helpers/find-python.ts";
import { startServer } from "../../helpers/start-server.ts";
import { warmPython } from "../../helpers/warm-python.ts";

const python = findPython("Tables", ["sklearn", "xgboost", "lightgbm", "pandas", "joblib"]);
const warm = warmPython(python, "joblib", "pandas", "xgboost", "lightgbm", "sklearn.compose", "sklearn.ensemble");

/** Models of tables, and the answers of their libraries for rows with and without missing values. */
const MODELS = `
import json, os, sys
import joblib, lightgbm, numpy as np, pandas as pd, xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

random = np.random.RandomState(0)
X = random.rand(200, 3)
X[::4, 1] = np.nan
y = np.nan_to_num(X).sum(1)
missing, whole = [[0.5, np.nan, 0.25]], [[1, np.nan, 3]]
kinds = np.array(["a", "b", "c"])[random.randint(0, 3, 200)]
frame = pd.DataFrame({"n": X[:, 0], "c": pd.Series(kinds, dtype=object)})
target = 10.0 * (kinds == "b") + 5.0 * (kinds == "c") + X[:, 0]
holes = frame.copy()
holes.loc[::5, "c"] = np.nan
holes.loc[1::5, "n"] = np.nan
row = lambda n, c: pd.DataFrame({"n": [n], "c": pd.Series([c], dtype=object)})
out = {}

def keep(name, driver, path, **answers):
    out[name] = {"driver": driver, "path": path, "answers": {key: np.ravel(value).tolist() for key, value in answers.items()}}

def at(name):
    return os.path.join(sys.argv[1], name)

numbers = HistGradientBoostingRegressor(max_iter=5).fit(X, y)
joblib.dump(numbers, at("numbers.joblib"))
keep("numbers", "sklearn", at("numbers.joblib"), missing=numbers.predict(missing), whole=numbers.predict(whole))
booster = xgboost.XGBRegressor(n_estimators=5, n_jobs=1).fit(X, y)
booster.save_model(at("booster.json"))
keep("xgb", "xgboost", at("booster.json"), missing=booster.predict(missing), whole=booster.predict(whole))
light = lightgbm.LGBMRegressor(n_estimators=5, n_jobs=1, verbose=-1).fit(X, y)
light.booster_.save_model(at("booster.lgb"))
keep("lgb", "lightgbm", at("booster.lgb"), missing=light.predict(missing), whole=light.predict(whole))

mixed = make_pipeline(make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough"), LinearRegression()).fit(frame, target)
joblib.dump(mixed, at("mixed.joblib"))
keep("mixed", "sklearn", at("mixed.joblib"), b=mixed.predict(row(2.5, "b")))
filled = make_pipeline(make_column_transformer((make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["c"]), (SimpleImputer(), ["n"])), LinearRegression()).fit(holes, target)
joblib.dump(filled, at("filled.joblib"))
keep("filled", "sklearn", at("filled.joblib"), b=filled.predict(row(2.5, "b")), no_text=filled.predict(row(2.5, np.nan)), no_number=filled.predict(row(np.nan, "b")))
own = make_pipeline(make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["c"]), (SimpleImputer(), ["n"])), LinearRegression()).fit(holes, target)
joblib.dump(own, at("own.joblib"))
keep("own", "sklearn", at("own.joblib"), b=own.predict(row(2.5, "b")), no_text=own.predict(row(2.5, np.nan)), no_number=own.predict(row(np.nan, "b")))
numbered = make_pipeline(make_column_transformer((OneHotEncoder(), [1]), remainder="passthrough"), LinearRegression()).fit(frame.to_numpy(), target)
joblib.dump(numbered, at("numbered.joblib"))
keep("numbered", "sklearn", at("numbered.joblib"), b=numbered.predict(np.array([[2.5, "b"]], object)))

categories = holes.astype({"c": "category"})
texts = lightgbm.LGBMRegressor(n_estimators=8, n_jobs=1, verbose=-1, min_child_samples=2).fit(categories, target)
texts.booster_.save_model(at("texts.lgb"))
cat = lambda n, c: row(n, c).astype({"c": categories["c"].dtype})
answers = {"b": cat(0.5, "b"), "no_text": cat(0.5, np.nan), "no_number": cat(np.nan, "b")}
keep("lgb_texts", "lightgbm", at("texts.lgb"), **{key: texts.predict(value) for key, value in answers.items()})
joblib.dump(texts, at("texts-lgb.joblib"))
keep("lgb_pickle", "lightgbm", at("texts-lgb.joblib"), **{key: texts.predict(value) for key, value in answers.items()})
if hasattr(xgboost.Booster, "get_categories"):
    trees = xgboost.XGBRegressor(n_estimators=8, n_jobs=1, enable_categorical=True).fit(categories, target)
    trees.save_model(at("texts.json"))
    keep("xgb_texts", "xgboost", at("texts.json"), **{key: trees.predict(value) for key, value in answers.items()})
json.dump(out, open(at("answers.json"), "w"))
`;

interface Case {
  readonly driver: string;
  readonly path: string;
  readonly answers: Readonly<Record<string, readonly number[]>>;
}

function make(command: string): Readonly<Record<string, Case>> {
  const folder = mkdtempSync(join(tmpdir(), "kserving-tables-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "make.py"), MODELS);
  execFileSync(command, [join(folder, "make.py"), folder], { stdio: ["ignore", "ignore", "inherit"] });
  return JSON.parse(readFileSync(join(folder, "answers.json"), "utf8"));
}

const cases = python === undefined ? {} : make(warm);

async function serve() {
  const options = { python: warm, allow_pickle: "true" };
  const models = Object.entries(cases).map(([name, { driver, path }]) => {
    const own = driver === "xgboost" || driver === "lightgbm" || path.endsWith("joblib") ? options : { python: warm };
    return [name, { driver, path, options: own }] as const;
  });
  const { httpUrl } = await startServer({ models: Object.fromEntries(models) });
  const post = async (path: string, body: string, type: string, headers = {}) => {
    const answer = await fetch(`${httpUrl}${path}`, {
      method: "POST",
      body,
      headers: { "content-type": type, ...headers },
    });
    const text = await answer.text();
    return answer.status === 200
      ? [JSON.parse(text)].flatMap(({ predictions, outputs }) => predictions ?? outputs)
      : text;
  };
  return {
    json: (model: string, rows: string) =>
      post(`/v1/models/${model}:predict`, `{"instances":${rows}}`, "application/json"),
    /** KServe V2: an input for each column, of one row. */
    v2: async (model: string, n: number | null, c: string | null) => {
      const inputs = [
        { name: "n", datatype: "FP64", shape: [1], data: [n] },
        { name: "c", datatype: "BYTES", shape: [1], data: [c] },
      ];
      const answered = await post(`/v2/models/${model}/infer`, JSON.stringify({ inputs }), "application/json");
      return Array.isArray(answered) ? answered.flatMap(({ data }) => data) : answered;
    },
    inputs: (model: string, columns: string) =>
      post(`/v1/models/${model}:predict`, `{"inputs":${columns}}`, "application/json"),
    csv: (model: string, text: string) =>
      post("/invocations", text, "text/csv", { "x-amzn-sagemaker-custom-attributes": `tfs-model-name=${model}` }),
  };
}

describe.skipIf(python === undefined)("models of tables", { timeout: 120_000 }, () => {
  it("get rows of numbers and texts, and missing values, as their library has them", async () => {
    const { json, inputs, csv, v2 } = await serve();
    const expected = (model: string, answer: string) =>
      (cases[model]?.answers[answer] ?? []).map((each) => expect.closeTo(each, 4));
    const check = async (model: string, answer: string, found: Promise<unknown>, what: string) => {
      const got = await found;
      const predictions = Array.isArray(got) ? got.map((each) => each?.predict ?? each?.result ?? each) : got;
      expect(predictions, `${model}: ${what}`).toEqual(expected(model, answer));
    };
    for (const model of ["numbers", "xgb", "lgb"]) {
      for (const text of ["0.5,,0.25\n", "0.5,nan,0.25", "0.5,NaN,0.25", "0.5,NA,0.25"])
        await check(model, "missing", csv(model, text), text);
      await check(model, "missing", json(model, "[[0.5,null,0.25]]"), "null");
      await check(model, "missing", json(model, "[[0.5,NaN,0.25]]"), "NaN");
      await check(model, "whole", json(model, "[[1,null,3]]"), "null beside whole numbers");
    }
    const byName = (model: string, n: string, c: string) => json(model, `[{"n":${n},"c":${c}}]`);
    for (const model of ["mixed", "filled", "own", "numbered"]) {
      await check(model, "b", json(model, '[[2.5,"b"]]'), "a row");
      await check(model, "b", csv(model, "2.5,b\n"), "CSV");
      if (model === "numbered") continue;
      await check(model, "b", csv(model, "n,c\n2.5,b\n"), "CSV with its header");
      await check(model, "b", csv(model, "c,n\nb,2.5\n"), "CSV with its header in another order");
      await check(model, "b", byName(model, "2.5", '"b"'), "a record");
    }
    for (const [model, n] of [
      ["filled", 2.5],
      ["own", 2.5],
      ["lgb_texts", 0.5],
      ["lgb_pickle", 0.5],
      ["xgb_texts", 0.5],
    ] as const) {
      if (cases[model] === undefined) continue;
      await check(model, "b", json(model, `[[${n},"b"]]`), "a row");
      await check(model, "no_text", byName(model, String(n), "null"), "a record without a text");
      await check(model, "no_number", byName(model, "null", '"b"'), "a record without a number");
      await check(model, "no_text", csv(model, `${n},\n`), "CSV without a text");
      await check(model, "no_number", csv(model, ",b\n"), "CSV without a number");
      await check(model, "no_number", inputs(model, '{"n":[null],"c":["b"]}'), "columns");
      await check(model, "b", v2(model, n, "b"), "V2");
      await check(model, "no_text", v2(model, n, null), "V2 without a text");
      await check(model, "no_number", v2(model, null, "b"), "V2 without a number");
      const both = await csv(model, `${n},b\n${n},\n`);
      expect(both, model).toEqual([...expected(model, "b"), ...expected(model, "no_text")]);
    }
  });
});
