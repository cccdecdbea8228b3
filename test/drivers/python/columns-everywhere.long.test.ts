import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { describeServed } from "../../../src/cli/client-types/describe-models.ts";
import { writeGoClient } from "../../../src/cli/client-types/write-go-client.ts";
import { writeModelTypes } from "../../../src/cli/client-types/write-model-types.ts";
import { writePythonClient } from "../../../src/cli/client-types/write-python-client.ts";
import { clientFiles } from "../../../src/cli/scaffold/client-files.ts";
import { exampleRequest } from "../../../src/cli/status-reporter/report-example.ts";
import { firstRow, toTableTensors } from "../../../src/page/table-values.ts";
import type { PageExample, PageState } from "../../../src/protocols/page/page-data.ts";
import { runCommand } from "../../cli/commands/run-command.ts";
import { findPython } from "../../helpers/find-python.ts";
import { connectKserve } from "../../helpers/kserve-grpc.ts";
import { missingPython, PYTHON } from "../../helpers/missing-python.ts";
import { shareServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { warmPython } from "../../helpers/warm-python.ts";

const run = promisify(execFile);
const python = findPython("Columns everywhere", ["sklearn", "xgboost", "lightgbm", "catboost", "pandas", "joblib"]);
const warm = warmPython(python, "joblib", "pandas", "xgboost", "lightgbm", "catboost", "sklearn.compose");
const variable = "KSERVING_TEST_PARTS";
const mlflowPython = process.env[variable] ?? "python3";
const lacksMlflow = missingPython("Columns of MLflow", "mlflow.pyfunc", { python: mlflowPython, variable });
const warmMlflow = warmPython(lacksMlflow === undefined ? mlflowPython : undefined, "mlflow.pyfunc");
/** For Parquet, and the client in Python. */
const lacksArrow = missingPython("Columns from Parquet", "pyarrow.parquet");
const canRun = python !== undefined && lacksMlflow === undefined && lacksArrow === undefined;

/** A model of each library for the same columns: numbers, texts, texts of digits, truth, and a name that Python has. */
const MODELS = `
import os, sys
import catboost, joblib, lightgbm, numpy as np, pandas as pd, xgboost
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

at = lambda name: os.path.join(sys.argv[1], name)
random = np.random.RandomState(0)
age = random.randint(18, 80, 200).astype(float)
age[::7] = np.nan
of = lambda *values: np.array(values, object)[random.randint(0, len(values), 200)]
frame = pd.DataFrame({"age": age, "city": of("Paris", "Rome"), "zip": of("01234", "98765"), "member": random.rand(200) > 0.5, "self": random.rand(200)})
target = np.where((frame.city == "Rome") ^ frame.member, "yes", "no")
columns = make_column_transformer((SimpleImputer(), ["age"]), (OneHotEncoder(), ["city", "zip", "member"]), remainder="passthrough")
joblib.dump(make_pipeline(columns, LogisticRegression()).fit(frame, target), at("columns.joblib"))
categories = frame.astype({"city": "category", "zip": "category"})
lightgbm.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1).fit(categories, target).booster_.save_model(at("columns.lgb"))
xgboost.XGBRegressor(n_estimators=3, n_jobs=1, enable_categorical=True).fit(categories, frame.self).save_model(at("columns.ubj"))
options = {"iterations": 5, "depth": 2, "verbose": False, "thread_count": 1, "allow_writing_files": False}
catboost.CatBoostClassifier(cat_features=["city", "zip"], **options).fit(frame.astype({"member": float}), target).save_model(at("columns.cbm"))
`;

const MLFLOW_TYPES = {
  age: "double",
  city: "string",
  zip: "string",
  member: "boolean",
  self: "long",
  since: "datetime",
};

/** Tells what each column is to a model of MLflow. */
const MLFLOW_CODE = `import mlflow

class Own(mlflow.pyfunc.PythonModel):
    def predict(self, context, model_input, params=None):
        return [" ".join(f"{name}:{model_input[name].dtype}" for name in model_input.columns)] * len(model_input)

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
  const columns = Object.entries(MLFLOW_TYPES).map(([name, type]) => ({ type, name, required: true }));
  const before = readFileSync(join(place, "MLmodel"), "utf8");
  writeFileSync(join(place, "MLmodel"), before.replace(/ inputs: '[^']*'/, ` inputs: '${JSON.stringify(columns)}'`));
  writeFileSync(join(place, "mlflow_own.py"), MLFLOW_CODE);
}

const FILES = {
  sklearn: "columns.joblib",
  xgboost: "columns.ubj",
  lightgbm: "columns.lgb",
  catboost: "columns.cbm",
  mlflow: "mlflow",
};

const NAMES = ["age", "city", "zip", "member", "self"];
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  ...{ sklearn: NAMES, xgboost: NAMES, lightgbm: NAMES, catboost: NAMES },
  mlflow: Object.keys(MLFLOW_TYPES),
};

const serve = shareServer(() => {
  makeModels(warm);
  const stage = (driver: string, file: string) => {
    const command = driver === "mlflow" ? warmMlflow : warm;
    const pickled: Record<string, string> = ["sklearn", "mlflow"].includes(driver) ? { allow_pickle: "true" } : {};
    return { stages: [{ driver, path: join(folder, file), options: { python: command, ...pickled } }] };
  };
  const models = Object.entries(FILES).map(([driver, file]) => [driver, stage(driver, file)] as const);
  return { models: Object.fromEntries(models), mcp: true };
});

/** The text of an answer; anything but 200 fails the test, with what was sent. */
async function ask(url: string, body?: unknown, type = "application/json"): Promise<string> {
  const text = typeof body === "string" ? body : JSON.stringify(body, plainBigInt);
  const headers = { "content-type": type, accept: "application/json, text/event-stream" };
  const answer = await fetch(url, body === undefined ? {} : { method: "POST", body: text, headers });
  const answered = await answer.text();
  expect([answer.status, answer.status === 200 ? "" : `${answered} to ${text}`], url).toEqual([200, ""]);
  return answered;
}

const plainBigInt = (_: string, value: unknown) => (typeof value === "bigint" ? Number(value) : value);

/** A value by the name of each column. */
type Row = Readonly<Record<string, string | number | boolean>>;

/** The line of the banner, which is run as it stands; and the row in it. */
async function askAsBanner(name: string): Promise<Row> {
  const server = await serve();
  const { httpUrl, grpcAddress } = server;
  const lease = await server.service.acquire({ model: name });
  const { inputs = [], isTable } = (await lease.exampleInputs?.()) ?? {};
  lease.release();
  const line = exampleRequest({ name, inputs, isTable, grpcAddress, httpUrl, serves: () => true }) ?? "";
  const { stdout } = await run("sh", ["-c", line.replace("curl ", "curl -s -w '%{http_code}' ")]);
  expect(stdout, line).toMatch(/200$/);
  return JSON.parse(/ -d '\[(.*)\]'$/.exec(line)?.[1] ?? "");
}

/** The form of the page, as it is at first. */
async function askAsPage(name: string): Promise<Row> {
  const { httpUrl } = await serve();
  const { table, inputs }: PageExample = JSON.parse(await ask(`${httpUrl}/ui/models/${name}/versions/1/example`));
  const state: PageState = JSON.parse(await ask(`${httpUrl}/ui/models`));
  const [signature] = state.models.find(({ model }) => model === name)?.signatures ?? [];
  expect([signature?.isTable, table?.columns.map((column) => column.name)]).toEqual([true, COLUMNS[name]]);
  const columns = table?.columns ?? [];
  const written = firstRow(columns, inputs);
  const tensors = toTableTensors(signature?.inputs ?? [], table as NonNullable<typeof table>, [written]);
  const sent = tensors.map(({ values: data, ...rest }) => ({ ...rest, data }));
  await ask(`${httpUrl}/v2/models/${name}/infer`, { inputs: sent });
  return Object.fromEntries(tensors.map((tensor) => [tensor.name, plainBigInt("", tensor.values[0]) as string]));
}

type Methods = Readonly<Record<"post", { readonly requestBody?: { readonly content: Content } } | undefined>>;
type Content = Readonly<Record<string, { readonly example?: unknown }>>;

/** The bodies of OpenAPI's documents: those of all calls of the model, for `/docs`, and those of KServe V2 alone. */
async function askAsDocuments(name: string): Promise<readonly string[]> {
  const { httpUrl } = await serve();
  const asked: string[] = [];
  for (const document of ["/docs/openapi.json", `/v2/models/${name}/openapi.json`]) {
    const paths: Readonly<Record<string, Methods>> = JSON.parse(await ask(httpUrl + document)).paths;
    for (const [path, { post }] of Object.entries(paths)) {
      const example = post?.requestBody?.content["application/json"]?.example;
      if (example === undefined || !path.split(/[/:]/).includes(name)) continue;
      await ask(httpUrl + path, example);
      asked.push(path);
    }
  }
  return asked;
}

/** The request in KServe V2's metadata, and the columns there, over gRPC, and in TensorFlow Serving's. */
async function askAsMetadata(name: string): Promise<readonly (readonly string[])[]> {
  const { httpUrl, grpcAddress } = await serve();
  const { inputs, parameters } = JSON.parse(await ask(`${httpUrl}/v2/models/${name}`));
  await ask(`${httpUrl}/v2/models/${name}/infer`, parameters.sample_request);
  const ofGrpc = await connectKserve(grpcAddress)("ModelMetadata", { name });
  const { metadata } = JSON.parse(await ask(`${httpUrl}/v1/models/${name}/metadata`));
  const names = (tensors: readonly { readonly name: string }[]) => tensors.map((tensor) => tensor.name);
  const ofTensorflow = metadata.signature_def.signature_def.serving_default.inputs;
  return [names(inputs), names(ofGrpc.inputs as never), Object.keys(ofTensorflow)];
}

/** The request in the text for language models. */
async function askAsText(name: string): Promise<Row> {
  const { httpUrl } = await serve();
  const about = (await ask(`${httpUrl}/llms.txt`)).split("### ").find((part) => part.startsWith(`${name}\n`)) ?? "";
  const [, path = "", body = ""] = /POST (\S+) (.*)$/m.exec(about) ?? [];
  await ask(httpUrl + path, body);
  return JSON.parse(body)[0];
}

/** A call of the tool, by its schema: it has the columns, and takes the values that it lists. */
async function askAsTool(name: string, row: Row): Promise<Row> {
  const { httpUrl } = await serve();
  const call = async (method: string, params: object) =>
    JSON.parse(await ask(`${httpUrl}/mcp`, { jsonrpc: "2.0", id: 1, method, params })).result;
  const { tools } = await call("tools/list", {});
  const { properties } = tools.find((tool: { name: string }) => tool.name === name).inputSchema;
  const columns = Object.keys(properties).map((column) => {
    const [first = row[column]] = properties[column].items.enum ?? [];
    return [column, [first]] as const;
  });
  const answer = await call("tools/call", { name, arguments: Object.fromEntries(columns) });
  expect(answer.isError, JSON.stringify(answer)).not.toBe(true);
  return Object.fromEntries(columns.map(([column, [value]]) => [column, value]));
}

const TO_PARQUET = `
import json, sys, pyarrow, pyarrow.parquet
pyarrow.parquet.write_table(pyarrow.table(json.loads(sys.argv[1])), sys.argv[2])`;

/** \`kserving infer\` with rows as JSON, CSV and Parquet, which answer alike. */
async function askAsCommand(name: string, row: Row): Promise<readonly unknown[]> {
  const { httpUrl } = await serve();
  const folder = tempFolder({ "rows.csv": `${Object.keys(row)}\n${Object.values(row)}\n${Object.values(row)}\n` });
  const columns = Object.fromEntries(Object.entries(row).map(([column, value]) => [column, [value, value]]));
  execFileSync(PYTHON, ["-c", TO_PARQUET, JSON.stringify(columns), join(folder, "rows.parquet")]);
  const answers: unknown[] = [];
  for (const input of [JSON.stringify([row, row]), `@${folder}/rows.csv`, `@${folder}/rows.parquet`]) {
    const flags = ["--input", input, "-o", `python=${PYTHON}`, "--json"];
    const { code, stdout, stderr } = await runCommand(["infer", `${httpUrl}/v2/models/${name}`, ...flags]);
    expect([code, stderr], input).toEqual([0, ""]);
    answers.push(JSON.parse(stdout));
  }
  return answers;
}

/** The programs that are generated in TypeScript and Python, and the examples in their comments. */
async function askAsPrograms(name: string): Promise<void> {
  const { httpUrl: address } = await serve();
  const models = await describeServed({ address, authorization: undefined, names: [name] });
  const [, example = ""] = /\/\/ For example: (predict\(.*\))\n/.exec(writeModelTypes(models, address)) ?? [];
  const called = `import { connect } from "kserving/client";
console.log((await connect(process.argv[2]).$model(${JSON.stringify(name)}).${example}) !== undefined);`;
  const module = writePythonClient(models, address);
  const [, call = ""] = /For example: (client\..*)$/m.exec(module) ?? [];
  const folder = tempFolder({
    ...{ "called.mjs": called, "models.py": module },
    "program.py": `import sys\nfrom models import Client\nclient = Client(sys.argv[1])\nprint(${call} is not None)\n`,
    "call.mjs": clientFiles({ address, models }, false).files["call.mjs"] ?? "",
  });
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(resolve("."), join(folder, "node_modules/kserving"));
  const node = (program: string) => run(process.execPath, [join(folder, program), address]);
  expect((await node("called.mjs")).stdout).toBe("true\n");
  expect((await node("call.mjs")).stdout).not.toBe("");
  expect((await run(PYTHON, [join(folder, "program.py"), address])).stdout).toBe("True\n");
}

/** A program in Go that makes each call that is an example in the comments of the generated package. */
function goProgram(calls: readonly string[]): string {
  const lines = calls.map((call) => `\tif _, err := ${call}; err != nil {\n\t\tpanic(err)\n\t}\n`);
  return `package main\n\nimport (\n\t"context"\n\t. "example/models"\n\t"os"\n)\n
func main() {\n\tctx, client := context.Background(), &Client{Address: os.Args[1]}\n${lines.join("")}}\n`;
}

describe.skipIf(!canRun)("the columns of a table", { timeout: 300_000 }, () => {
  it.each(Object.keys(FILES))("are everywhere for a model of %s, in requests that are answered", async (name) => {
    const row = await askAsBanner(name);
    const rows = {
      banner: row,
      page: await askAsPage(name),
      text: await askAsText(name),
      tool: await askAsTool(name, row),
    };
    for (const [place, one] of Object.entries(rows)) {
      expect(Object.keys(one), place).toEqual(COLUMNS[name]);
      const types = Object.entries(one).map(([column, value]) => [column, typeof value]);
      expect(Object.fromEntries(types), place).toMatchObject({ age: "number", city: "string", zip: "string" });
    }
    expect(await askAsDocuments(name)).toEqual(
      expect.arrayContaining([`/predict/${name}`, `/v1/models/${name}:predict`, `/v2/models/${name}/infer`]),
    );
    for (const names of await askAsMetadata(name)) expect(names.toSorted()).toEqual(COLUMNS[name]?.toSorted());
    const [first, ...others] = await askAsCommand(name, { ...row, zip: "01234" });
    expect(others).toEqual([first, first]);
    await askAsPrograms(name);
  });

  it("are in the examples of a package in Go, which are answered", async () => {
    const { httpUrl } = await serve();
    const models = await describeServed({ address: httpUrl, authorization: undefined, names: Object.keys(FILES) });
    const written = writeGoClient(models, httpUrl);
    const calls = [...written.matchAll(/^\/\/\t(client\..*)$/gm)].map(([, call = ""]) => call);
    expect(calls).toHaveLength(Object.keys(FILES).length);
    const folder = tempFolder({ "go.mod": "module example\n\ngo 1.22\n", "main.go": goProgram(calls) });
    mkdirSync(join(folder, "models"));
    writeFileSync(join(folder, "models/models.go"), written);
    expect((await run("gofmt", ["-l", "models"], { cwd: folder })).stdout).toBe("");
    await run("go", ["run", ".", httpUrl], { cwd: folder });
  });
});
