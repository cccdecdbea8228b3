import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { describeServed } from "../../../src/cli/client-types/describe-models.ts";
import { writePythonClient } from "../../../src/cli/client-types/write-python-client.ts";
import { clientFiles } from "../../../src/cli/scaffold/client-files.ts";
import { exampleRequest } from "../../../src/cli/status-reporter/report-example.ts";
import { findPython } from "../../helpers/find-python.ts";
import { shareServer, startServer } from "../../helpers/start-server.ts";
import { warmPython } from "../../helpers/warm-python.ts";

const python = findPython("Rows with names", ["sklearn", "xgboost", "lightgbm", "catboost", "pandas", "joblib"]);
const warm = warmPython(python, "joblib", "pandas", "xgboost", "lightgbm", "catboost", "sklearn.compose");

/** Models of a data frame with a column of numbers that may be missing, of texts and of whole numbers. */
const MODELS = `
import json, os, sys
import catboost, joblib, lightgbm, numpy as np, pandas as pd, xgboost
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

at = lambda name: os.path.join(sys.argv[1], name)
random = np.random.RandomState(0)
age = random.randint(18, 80, 200).astype(float)
age[::7] = np.nan
frame = pd.DataFrame({"age": age, "city": np.array(["Paris", "Rome"])[random.randint(0, 2, 200)], "rooms": random.randint(3, 6, 200)})
target = np.where((frame.city == "Rome") ^ (frame.rooms > 4), "yes", "no")
columns = make_column_transformer((SimpleImputer(), ["age"]), (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["city"]), (OneHotEncoder(), [2]))
classifier = make_pipeline(columns, LogisticRegression()).fit(frame, target)
joblib.dump(classifier, at("columns.joblib"))
words = make_pipeline(make_column_transformer((CountVectorizer(), "city"), remainder="passthrough"), LogisticRegression()).fit(frame.fillna(0), target)
joblib.dump(words, at("words.joblib"))
sure = DecisionTreeClassifier().fit(pd.DataFrame({"n": [0.0, 0.0, 1.0, 1.0]}), ["a", "a", "b", "b"])
joblib.dump(sure, at("sure.joblib"))
categories = frame.astype({"city": "category"})
light = lightgbm.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1).fit(categories, target)
light.booster_.save_model(at("columns.lgb"))
trees = xgboost.XGBRegressor(n_estimators=3, n_jobs=1, enable_categorical=True).fit(categories, frame.rooms)
trees.save_model(at("columns.ubj"))
holes = frame.assign(city=frame.city.where(frame.index % 5 > 0))
cat = catboost.CatBoostClassifier(iterations=9, depth=2, verbose=False, thread_count=1, allow_writing_files=False, cat_features=["city"]).fit(holes.fillna({"city": "nan"}), target)
cat.save_model(at("columns.cbm"))
row = lambda age, city, rooms: pd.DataFrame({"age": [age], "city": [city], "rooms": [rooms]})
probability = lambda *values: classifier.predict_proba(row(*values)).tolist()
as_category = lambda table: table.astype({"city": pd.CategoricalDtype(["Paris", "Rome"])})
missing = [row(np.nan, "Rome", 4), row(30.5, np.nan, 4), row(30.5, "Rome", np.nan)]
of = lambda ask: [ask(each) for each in missing]
values = {
    "columns.lgb": of(lambda table: light.predict_proba(as_category(table))[0, 1]),
    "columns.ubj": of(lambda table: trees.predict(as_category(table))[0]),
    "columns.cbm": of(lambda table: cat.predict_proba(table.fillna({"city": "nan"}))[0, 1]),
}
json.dump({name: [list(map(float, each))] for name, each in values.items()}, open(at("missing.json"), "w"))
json.dump({"rome": probability(30.5, "Rome", 4), "no_age": probability(np.nan, "Rome", 4), "no_city": probability(30.5, np.nan, 4)}, open(at("answers.json"), "w"))
`;

function make(command: string): { readonly folder: string; readonly answers: Record<string, number[][]> } {
  const folder = mkdtempSync(join(tmpdir(), "kserving-rows-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "make.py"), MODELS);
  execFileSync(command, [join(folder, "make.py"), folder], { stdio: ["ignore", "ignore", "inherit"] });
  return { folder, answers: JSON.parse(readFileSync(join(folder, "answers.json"), "utf8")) };
}

const { folder, answers } = python === undefined ? { folder: "", answers: {} } : make(warm);

function toServed(driver: string, file: string) {
  const pickled: Record<string, string> = file.endsWith("joblib") ? { allow_pickle: "true" } : {};
  const options = { python: warm, ...pickled };
  return { stages: [{ driver, path: join(folder, file), options }] };
}

/** Its process takes seconds to start. */
const serveColumns = shareServer(() => toServed("sklearn", "columns.joblib"));

async function post(url: string, body: string, type = "application/json") {
  const answer = await fetch(url, { method: "POST", body, headers: { "content-type": type } });
  return { status: answer.status, json: JSON.parse(await answer.text()) };
}

const closeTo = (values: readonly number[][] = []) => values.map((row) => row.map((each) => expect.closeTo(each, 10)));

describe.skipIf(python === undefined)("rows with names", { timeout: 60_000 }, () => {
  it("are lists of objects, tables of columns and CSV, in which values may be missing", async () => {
    const { httpUrl } = await serveColumns();
    const ask = async (body: string, type?: string) => {
      const { status, json } = await post(`${httpUrl}/predict`, body, type);
      return status === 200 ? json.predict_proba : json.error;
    };
    const { rome, no_age: noAge, no_city: noCity } = answers;
    expect(await ask('[{"age": 30.5, "city": "Rome", "rooms": 4}]')).toEqual(closeTo(rome));
    expect(await ask('[{"rooms": 4, "city": "Rome"}, {"age": 30.5, "city": null, "rooms": 4}]')).toEqual(
      closeTo([...(noAge ?? []), ...(noCity ?? [])]),
    );
    expect(await ask('{"age": [30.5, null], "city": ["Rome", "Rome"], "rooms": [4, 4]}')).toEqual(
      closeTo([...(rome ?? []), ...(noAge ?? [])]),
    );
    expect(await ask('{"age": 30.5, "city": "Rome", "rooms": 4}')).toEqual(closeTo(rome));
    expect(await ask('[[30.5, "Rome", 4]]')).toEqual(closeTo(rome));
    expect(await ask("age,city,rooms\n30.5,Rome,4\n,Rome,4\n", "text/csv")).toEqual(
      closeTo([...(rome ?? []), ...(noAge ?? [])]),
    );
    expect(await ask("rooms,city,age\n4,,30.5\n", "text/csv")).toEqual(closeTo(noCity));
    const large = `[${Array.from({ length: 3000 }, () => '{"age": 30.5, "city": "Rome", "rooms": 4}')}]`;
    expect((await ask(large)).slice(-1)).toEqual(closeTo(rome));
    expect(await ask(`city,age,rooms\n${"Rome,30.5,4\n".repeat(6000)}`, "text/csv")).toHaveLength(6000);
    const shown = await post(`${httpUrl}/v1/models/default:predict`, '{"inputs": {"input": [[30.5, "Rome", 4]]}}');
    expect(shown.json.outputs.predict_proba).toEqual(closeTo(rome));
  });

  it("are refused with the column that was meant", async () => {
    const { httpUrl } = await serveColumns();
    const meant = 'The model has no input "citty". Did you mean "city"? It has age, city, rooms.';
    for (const [body, type] of [
      ['[{"age": 30.5, "citty": "Rome", "rooms": 4}]', "application/json"],
      ["age,citty,rooms\n30.5,Rome,4\n", "text/csv"],
    ] as const)
      expect(await post(`${httpUrl}/predict`, body, type)).toEqual({
        status: 400,
        json: {
          ...{ error: meant, code: "invalid_argument", reason: "UNKNOWN_INPUT", field: "citty" },
          ...{ expected: "age, city, rooms", did_you_mean: "city", docs: "/v2/models/default/openapi.json" },
        },
      });
    const missing = 'Input "city" is missing. The model takes age, city, rooms.';
    const without = '[{"age": 30.5, "rooms": 4}]';
    expect(await post(`${httpUrl}/predict`, without)).toMatchObject({
      ...{ status: 400, json: { error: missing, reason: "MISSING_INPUT", field: "city" } },
    });
    const unknown = await post(`${httpUrl}/predict`, '[{"age": 30.5, "city": "Oslo", "rooms": 4}]');
    expect(unknown).toMatchObject({ status: 400, json: { error: expect.stringContaining("Oslo") } });
  });

  it.each([
    [
      "sklearn",
      "columns.joblib",
      [{ dtype: "float64" }, { dtype: "bytes", categories: ["Paris", "Rome"] }, { categories: [3, 4, 5] }],
    ],
    ["sklearn", "words.joblib", [{ dtype: "float64" }, { dtype: "bytes" }, { dtype: "float64" }]],
    [
      "lightgbm",
      "columns.lgb",
      [{ dtype: "float64" }, { dtype: "bytes", categories: ["Paris", "Rome"] }, { dtype: "float64" }],
    ],
    [
      "xgboost",
      "columns.ubj",
      [{ dtype: "float32" }, { dtype: "bytes", categories: ["Paris", "Rome"] }, { dtype: "float32" }],
    ],
    ["catboost", "columns.cbm", [{ dtype: "float32" }, { dtype: "bytes" }, { dtype: "float32" }]],
  ] as const)("are shown for a model of %s, %s, with values on which it runs", async (driver, file, expected) => {
    const server = await (file === "columns.joblib" ? serveColumns() : startServer(toServed(driver, file)));
    const { grpcAddress, httpUrl } = server;
    const names = ["age", "city", "rooms"];
    const metadata = await (await fetch(`${httpUrl}/v2/models/default`)).json();
    const specs = expected.map((each, index) => {
      const { categories, dtype = "float64" } = each as { categories?: readonly unknown[]; dtype?: string };
      const datatype = { float32: "FP32", float64: "FP64", bytes: "BYTES" }[dtype];
      const parameters = categories && { parameters: { categories: JSON.stringify(categories) } };
      return { name: names[index], datatype, shape: [-1], ...parameters };
    });
    expect(metadata).toMatchObject({ inputs: specs });
    const { inputs = [], ran, isTable } = (await server.exampleInputs()) ?? {};
    expect({ ran, isTable, names: inputs.map(({ name }) => name) }).toEqual({ ran: true, isTable: true, names });
    const line = exampleRequest({ name: "default", inputs, isTable, grpcAddress, httpUrl, serves: () => true }) ?? "";
    expect(line).toMatch(/^curl http:\S+\/predict\/default -d '\[\{"age":[\d.]+,"city":"\w+","rooms":[\d.]+\}\]'$/);
    const { stdout } = await promisify(execFile)("sh", ["-c", line.replace("curl ", "curl -s -w '%{http_code}' ")]);
    expect(stdout).toMatch(/200$/);
    const { paths } = (await (await fetch(`${httpUrl}/docs/openapi.json`)).json()) as Document;
    for (const path of ["/predict/default", "/v1/models/default:predict", "/v2/models/default/infer"]) {
      const { example } = paths[path]?.post?.requestBody?.content["application/json"] ?? {};
      expect(await post(httpUrl + path, JSON.stringify(example)), path).toMatchObject({ status: 200 });
    }
  });

  it.each([
    ["lightgbm", "columns.lgb", ({ result }: Answer) => result],
    ["xgboost", "columns.ubj", ({ result }: Answer) => result],
    ["catboost", "columns.cbm", ({ predict_proba: both = [] }: Answer) => both.map(([, yes]) => yes)],
  ] as const)("reach a model of %s with its missing values, of numbers and of texts", async (driver, file, read) => {
    const { httpUrl } = await startServer(toServed(driver, file));
    const [expected = []] = JSON.parse(readFileSync(join(folder, "missing.json"), "utf8"))[file] as number[][];
    const rows = [
      { age: null, city: "Rome", rooms: 4 },
      { age: 30.5, city: null, rooms: 4 },
      { age: 30.5, city: "Rome", rooms: null },
    ];
    const csv = "age,city,rooms\n,Rome,4\n30.5,,4\n30.5,Rome,\n";
    const lists = rows.map((row) => Object.values(row));
    for (const [body, type] of [
      [JSON.stringify(rows), "application/json"],
      [JSON.stringify(lists), "application/json"],
      [csv, "text/csv"],
    ] as const) {
      const { status, json } = await post(`${httpUrl}/predict`, body, type);
      expect([body, status, status === 200 ? read(json) : json.error]).toEqual([
        ...[body, 200, expected.map((each) => expect.closeTo(each, 5))],
      ]);
    }
  });

  it("have types and values in generated clients, which send texts", async () => {
    const { httpUrl, grpcAddress } = await serveColumns();
    for (const address of [httpUrl, `grpc://${grpcAddress}`]) {
      const models = await describeServed({ address, authorization: undefined, names: [] });
      expect(models.get("default")?.inputs).toMatchObject([
        { name: "age", dtype: "float64", shape: [-1] },
        { name: "city", dtype: "bytes", shape: [-1], categories: ["Paris", "Rome"] },
        { name: "rooms", dtype: "float64", shape: [-1], categories: [3, 4, 5] },
      ]);
      const { files } = clientFiles({ address, models });
      expect(files["call.mjs"] ?? files["call.ts"]).toContain(
        'predict({ "age": [1], "city": ["Paris"], "rooms": [3] })',
      );
      writeFileSync(join(folder, "models.py"), writePythonClient(models, address));
    }
    const call = `
import sys
sys.path.insert(0, sys.argv[1])
from models import Client
print(Client(sys.argv[2]).default(age=[30.5], city=["Rome"], rooms=[4])["predict_proba"].tolist())`;
    const { stdout } = await promisify(execFile)(python ?? "", ["-c", call, folder, httpUrl]);
    expect(JSON.parse(stdout)).toEqual(closeTo(answers.rome));
  });

  it("have finite answers, and others where they are asked for", async () => {
    const { httpUrl } = await startServer(toServed("sklearn", "sure.joblib"));
    const rows = '[{"n": 0}]';
    const sent = await fetch(`${httpUrl}/predict`, { method: "POST", body: rows });
    expect(await sent.text()).toBe('{"predict":["a"],"predict_proba":[[1.0,0.0]]}');
    const sparse = await fetch(`${httpUrl}/v1/models/default:predict`, {
      method: "POST",
      body: `{"instances": ${rows}, "output_filter": ["predict_log_proba"]}`,
    });
    expect(await sparse.text()).toContain("-Infinity");
  });
});

/** Outputs of models of these libraries; scores of two classes have a column for each. */
interface Answer {
  readonly result?: readonly number[];
  readonly predict_proba?: readonly (readonly number[])[];
}

interface Document {
  readonly paths: Readonly<Record<string, { readonly post?: { readonly requestBody?: Content } }>>;
}

interface Content {
  readonly content: Readonly<Record<string, { readonly example?: unknown }>>;
}
