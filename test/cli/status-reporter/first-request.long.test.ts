import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { exampleRequest } from "../../../src/cli/status-reporter/report-example.ts";
import { findDriver } from "../../../src/drivers/registry.ts";
import { createServer } from "../../../src/server/server.ts";
import { findLibrary } from "../../../src/storage/runtimes/find-library.ts";
import { openvino, tensorflow } from "../../../src/storage/runtimes/native-runtimes.ts";
import { makeEstimators } from "../../drivers/python/estimators.ts";
import { makeTorchCases } from "../../drivers/pytorch/torch-cases.ts";
import { findPython } from "../../helpers/find-python.ts";
import { warmPython } from "../../helpers/warm-python.ts";

type Toy = readonly [name: string, path: string, options?: Readonly<Record<string, string>> | undefined];

const FIXTURES = "test/fixtures";
const FILES = /^(model\.(xml|onnx|tflite|h5|keras|json)|frozen\.pb|saved_model\.pb|.*\.onnx)$/;
/**
 * Toys whose runs do not end (a loop does with certain inputs only), one whose input has to be a serialized Example
 * with certain features, and one that takes only inputs of three elements a side, where no sizes are tried on a graph
 * with variables.
 */
const LEFT_OUT = /endless|lite_loop|parse_example|windows/;

/** The models of a folder of fixtures. */
function toysIn(folder: string, options?: Readonly<Record<string, string>>): Toy[] {
  const files = readdirSync(join(FIXTURES, folder), { recursive: true, withFileTypes: true });
  const found = files.filter((file) => file.isFile() && FILES.test(file.name) && !LEFT_OUT.test(file.parentPath));
  return found.map(({ parentPath, name }) => {
    const path = name === "saved_model.pb" ? parentPath : join(parentPath, name);
    return [`${path} ${options?.engine ?? ""}`.trim(), path, options];
  });
}

/**
 * The answer to the line that is shown for a model; undefined for a model that does not load, which other tests are
 * about, for one that no request can run, and for a line that is not curl's.
 */
async function askAsShown(driver: string, [, path, options = {}]: Toy): Promise<string | undefined> {
  const server = await createServer({ stages: [{ driver, path, options }], http: {} }).catch(() => undefined);
  if (server === undefined) return undefined;
  try {
    const { inputs, isTable } = (await server.exampleInputs()) ?? {};
    if (inputs === undefined) return undefined;
    const { grpcAddress, httpUrl = "" } = server;
    const line = exampleRequest({ name: "default", inputs, isTable, grpcAddress, httpUrl, serves: () => true }) ?? "";
    if (line.startsWith("npx")) return undefined;
    const { stdout } = await promisify(execFile)("sh", ["-c", line.replace("curl ", "curl -s -w '%{http_code}' ")]);
    return stdout.endsWith("200") ? undefined : `${line}\n${stdout}`;
  } finally {
    await server.close();
  }
}

/** A thread for each model would take most of the time, and what is shown does not depend on it. */
async function runInThisThread(name: string): Promise<void> {
  const { driver } = await findDriver(name);
  Object.assign(driver, { placement: "inline" });
}

function testToys(driver: string, toys: readonly Toy[]): void {
  describe(`the line that is shown for a model of the ${driver} driver is answered 200`, { timeout: 120_000 }, () => {
    beforeAll(() => runInThisThread(driver));
    test.each(toys.map((toy) => ({ name: toy[0], toy })))("$name", async ({ toy }) => {
      expect(await askAsShown(driver, toy)).toBeUndefined();
    });
  });
}

testToys("onnx", toysIn("models"));
testToys("tensorflow", toysIn("tensorflow-formats"));
testToys("tensorflow", toysIn("tensorflow", { engine: "portable" }));
if (findLibrary(tensorflow) !== undefined) testToys("tensorflow", toysIn("tensorflow", { engine: "native" }));
if (findLibrary(openvino) !== undefined) testToys("openvino", toysIn("openvino"));

const python = findPython("The example of models in Python", ["sklearn", "xgboost", "lightgbm", "torch"]);
if (python !== undefined) {
  const warm = warmPython(python, "joblib", "sklearn", "xgboost", "lightgbm", "torch");
  const options = { python: warm, allow_pickle: "true" };
  const { pathOf } = makeEstimators(warm, "sklearn", "xgboost", "lightgbm");
  const estimators = (...files: string[]): Toy[] => files.map((file) => [file, pathOf(file), options]);
  testToys("sklearn", estimators("classifier.joblib", "scaler.pkl", "columns.joblib"));
  testToys("xgboost", estimators("booster.ubj", "booster.json", "booster.pkl", "xgboost.pkl", "named.ubj"));
  testToys("lightgbm", estimators("booster.lgb", "lightgbm.pkl", "named.lgb"));
  const { folder } = makeTorchCases(warm);
  const scripts = readdirSync(folder).filter((name) => /\.(script|trace)\.pt$/.test(name));
  testToys(
    "pytorch",
    scripts.map((name): Toy => [name, join(folder, name), { python: warm }]),
  );
}
