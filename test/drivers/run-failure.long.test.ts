import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { RawOptions } from "../../src/drivers/option-table.ts";
import { findDriver } from "../../src/drivers/registry.ts";
import { isShapeFault } from "../../src/drivers/run-failure.ts";
import { loadHostedModel } from "../../src/models/load-hosted-model.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { CancelSource } from "../../src/platform/async/cancel-source.ts";
import { findLibrary } from "../../src/storage/runtimes/find-library.ts";
import { openvino, tensorflow } from "../../src/storage/runtimes/native-runtimes.ts";
import type { DType, NumericDType } from "../../src/tensor/dtype.ts";
import { numericLayout } from "../../src/tensor/dtype.ts";
import { createTensor, createTensors, elementCount, type Tensors } from "../../src/tensor/tensor.ts";
import { findPython } from "../helpers/find-python.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { warmPython } from "../helpers/warm-python.ts";
import { makeEstimators } from "./python/estimators.ts";
import { makeTorchCases } from "./pytorch/torch-cases.ts";

/** Zeros by name. */
type Given = Readonly<Record<string, readonly [dtype: NumericDType, ...shape: number[]]>>;

function zeros(given: Given): Tensors {
  const entries = Object.entries(given).map(([name, [dtype, ...shape]]) => {
    const data = new (numericLayout(dtype).array)(elementCount(shape));
    return [name, createTensor(dtype as DType, shape, data as never)] as const;
  });
  return createTensors(entries);
}

/** Code of a model's error about inputs, as its server receives it. */
async function codeOf(driver: string, path: string, { given, options = {} }: { given: Given; options?: RawOptions }) {
  const source = { driver: (await findDriver(driver)).driver, path, options, threads: 1 };
  const model = await loadHostedModel(source, createSilentLogger());
  onTestFinished(() => model.close());
  const call = { signature: model.defaultSignature, signal: new CancelSource() };
  return model.predict(zeros(given), call).then(
    () => "ran",
    (reason) => `${reason.code}: ${reason.message}`,
  );
}

const FIXTURES = "test/fixtures";
const MATRICES: Given = { a: ["float32", 2, 2, 3], b: ["float32", 3, 3, 4] };

describe("inputs of sizes that do not fit are the client's fault", () => {
  test.each([
    ["onnx", "models/add-two-inputs.onnx", { a: ["float32", 3], b: ["float32", 2] }],
    ["tensorflow", "tensorflow-formats/js_two_inputs/model.json", { number: ["float32", 2, 4], kind: ["int32", 3, 1] }],
    [
      "tensorflow",
      "tensorflow-formats/two_inputs/model.keras",
      { first: ["float32", 2, 4], second: ["float32", 3, 6] },
    ],
    ["tensorflow", "tensorflow-formats/two_inputs/model.h5", { first: ["float32", 2, 4], second: ["float32", 3, 6] }],
    ["tensorflow", "tensorflow-formats/lite_two_inputs/model.tflite", { a: ["float32", 2, 3], b: ["float32", 3, 3] }],
  ] as [string, string, Given][])("%s: %s", async (driver, path, given) => {
    expect(await codeOf(driver, join(FIXTURES, path), { given })).toMatch(/^invalid_argument: /);
  });

  test("tensorflow: the portable engine", async () => {
    const portable = { given: MATRICES, options: { engine: "portable" } };
    expect(await codeOf("tensorflow", `${FIXTURES}/tensorflow/matrices`, portable)).toMatch(/^invalid_argument: /);
  });

  test.runIf(findLibrary(tensorflow))("tensorflow: libtensorflow", async () => {
    const native = { given: MATRICES, options: { engine: "native" } };
    expect(await codeOf("tensorflow", `${FIXTURES}/tensorflow/matrices`, native)).toMatch(/^invalid_argument: /);
  });

  test.runIf(findLibrary(openvino))("openvino", async () => {
    const given: Given = { x: ["float32", 2, 4], y: ["float32", 3, 4] };
    expect(await codeOf("openvino", `${FIXTURES}/openvino/add_multiply/model.xml`, { given })).toMatch(
      /^invalid_argument: /,
    );
  });
});

const python = findPython("Faults of shapes in Python", ["sklearn", "xgboost", "lightgbm", "torch"]);

describe.skipIf(python === undefined)("in Python too", { timeout: 60_000 }, () => {
  const warm = warmPython(python, "joblib", "sklearn", "xgboost", "lightgbm", "torch");
  const options = { python: warm, allow_pickle: "true" };
  const given: Given = { x: ["float32", 1, 2] };
  const estimators = python === undefined ? undefined : makeEstimators(warm, "sklearn", "xgboost", "lightgbm");
  const torch = python === undefined ? undefined : makeTorchCases(warm);

  test.each([
    ["sklearn", "classifier.joblib"],
    ["xgboost", "booster.ubj"],
    ["xgboost", "xgboost.pkl"],
    ["lightgbm", "booster.lgb"],
    ["lightgbm", "lightgbm.pkl"],
  ])("%s: %s", async (driver, file) => {
    const path = estimators?.pathOf(file) ?? "";
    expect(await codeOf(driver, path, { given, options })).toMatch(/^invalid_argument: /);
  });

  test.each(["net.trace.pt", "conv.script.pt", "lstm.script.pt"])("pytorch: %s", async (file) => {
    const name = { "net.trace.pt": "x", "conv.script.pt": "image", "lstm.script.pt": "steps" }[file] as string;
    const path = join(torch?.folder ?? "", file);
    expect(await codeOf("pytorch", path, { given: { [name]: ["float32", 1, 2] }, options })).toMatch(
      /^invalid_argument: /,
    );
  });

  test("a class of the user's", async () => {
    const code = "class Add:\n    def predict(self, inputs):\n        return {'sum': inputs['x'] + inputs['y']}\n";
    const own = { ...options, model_class: "adder:Add", import_path: tempFolder({ "adder.py": code }) };
    const unequal: Given = { x: ["float32", 2], y: ["float32", 3] };
    expect(await codeOf("python", "", { given: unequal, options: own })).toMatch(/^invalid_argument: .*broadcast/);
  });
});

test("a place beyond the end of what the model looks it up in is the client's fault", async () => {
  const model = `${FIXTURES}/models/fails-at-run.onnx`;
  const [dtype, name] = ["int64", "index"] as const;
  const { driver } = await findDriver("onnx");
  const loaded = await loadHostedModel({ driver, path: model, options: {}, threads: 1 }, createSilentLogger());
  onTestFinished(() => loaded.close());
  const call = { signature: loaded.defaultSignature, signal: new CancelSource() };
  const inputs = createTensors([[name, createTensor(dtype, [1], BigInt64Array.of(7n))]]);
  await expect(loaded.predict(inputs, call)).rejects.toMatchObject({ code: "invalid_argument" });
});

test("a model that leaves no size open got the sizes that it asks for", () => {
  const message = "left operand cannot broadcast on dim 0";
  expect(isShapeFault(message, [{ name: "x", dtype: "float32", shape: [2, 3] }])).toBe(false);
  expect(isShapeFault(message, [{ name: "x", dtype: "float32", shape: [2, -1] }])).toBe(true);
  expect(isShapeFault("cannot divide", [{ name: "x", dtype: "float32" }])).toBe(false);
});
