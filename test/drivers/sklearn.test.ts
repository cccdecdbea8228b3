import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTensor } from "../../src/tensor/tensor.ts";
import { findPython } from "../helpers/find-python.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { warmPython } from "../helpers/warm-python.ts";
import { expectTensors } from "./expect-tensors.ts";
import { predict } from "./predict.ts";
import { makeEstimators } from "./python/estimators.ts";
import { loadModel } from "./python/load-model.ts";

const python = findPython("The sklearn driver", ["sklearn", "pandas"]);
const warm = warmPython(python, "pandas", "joblib", "sklearn.compose", "sklearn.linear_model", "sklearn.pipeline");
const estimators = python === undefined ? undefined : makeEstimators(warm, "sklearn");
const options = { python: warm, allow_pickle: "true" };

describe.skipIf(estimators === undefined)("the sklearn driver", () => {
  const { rows, pathOf, answersOf } = (estimators ?? {}) as ReturnType<typeof makeEstimators>;

  it.each(["classifier.joblib", "scaler.pkl"])(
    "answers for %s what scikit-learn answers, by the names of its methods",
    async (file) => {
      const model = await loadModel("sklearn", pathOf(file), { options });
      const { predict_log_proba: asked, ...usual } = answersOf(file);
      expectTensors(await predict(model, { features: rows }), usual, 1e-12);
      const outputs = Object.keys(answersOf(file));
      expectTensors(await predict(model, { features: rows }, { outputs }), answersOf(file), 1e-12);
      expect(asked === undefined).toBe(file === "scaler.pkl");
    },
  );

  it("has an output for each target of a method that answers with a list", async () => {
    const path = join(tempFolder(), "targets.joblib");
    const make = `
import joblib, sys
from sklearn.tree import DecisionTreeClassifier
joblib.dump(DecisionTreeClassifier(random_state=0).fit([[0], [1], [2]], [["a", 0], ["b", 1], ["b", 2]]), sys.argv[1])`;
    execFileSync(warm, ["-c", make, path]);
    const model = await loadModel("sklearn", path, { options });
    const x = createTensor("float64", [1, 1], Float64Array.of(2));
    const first = { "predict_proba.0": createTensor("float64", [1, 2], Float64Array.of(0, 1)) };
    expect(await predict(model, { x }, { outputs: ["predict_proba.0"] })).toEqual(first);
    expect(await predict(model, { x })).toMatchObject({
      ...first,
      "predict_proba.1": createTensor("float64", [1, 3], Float64Array.of(0, 0, 1)),
      predict: { dtype: "bytes", shape: [1, 2] },
    });
  });

  it("takes texts in one column where words are counted, and leaves columns to other estimators", async () => {
    const folder = tempFolder();
    const make = `
import joblib, os, sys
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder
texts, kinds = ["red wine", "blue sea", "red rose", "blue sky"], [1, 0, 1, 0]
first = make_union(TfidfVectorizer(), CountVectorizer())
words = GridSearchCV(make_pipeline("passthrough", first, LogisticRegression()), {"logisticregression__C": [1.0]}, cv=2).fit(texts, kinds)
joblib.dump(words, os.path.join(sys.argv[1], "words.joblib"))
joblib.dump(make_pipeline(OneHotEncoder(), LogisticRegression()).fit([["red"], ["blue"]], [1, 0]), os.path.join(sys.argv[1], "column.joblib"))`;
    execFileSync(warm, ["-c", make, folder]);
    const bytes = (shape: number[], ...values: string[]) =>
      createTensor(
        "bytes",
        shape,
        values.map((value) => Buffer.from(value)),
      );
    const expected = { predict: createTensor("int64", [2], BigInt64Array.of(1n, 0n)) };
    const words = await loadModel("sklearn", join(folder, "words.joblib"), { options });
    expect(await predict(words, { x: bytes([2], "red sea", "blue sea") })).toMatchObject(expected);
    expect(await predict(words, { x: bytes([2, 1], "red sea", "blue sea") })).toMatchObject(expected);
    const column = await loadModel("sklearn", join(folder, "column.joblib"), { options });
    expect(await predict(column, { x: bytes([2, 1], "red", "blue") })).toMatchObject(expected);
  });

  it("calls only the methods whose outputs are wanted", async () => {
    const model = await loadModel("sklearn", pathOf("classifier.joblib"), { options });
    const { predict: expected } = answersOf("classifier.joblib");
    expectTensors(await predict(model, { x: rows }, { outputs: ["predict"] }), { predict: expected! });
    expect(expected?.dtype).toBe("bytes");
  });

  it("has only the outputs that the option names, and refuses one that the estimator does not have", async () => {
    const own = { ...options, outputs: "predict" };
    const model = await loadModel("sklearn", pathOf("classifier.joblib"), { options: own });
    expect(Object.keys(await predict(model, { x: rows }))).toEqual(["predict"]);
    const missing = loadModel("sklearn", pathOf("scaler.pkl"), { options: own });
    await expect(missing).rejects.toThrow('no output "predict", which the option outputs names. It has transform.');
  });

  it("refuses a pickle that was not declared trustworthy, and a file that is not a pickle", async () => {
    const untrusted = loadModel("sklearn", pathOf("scaler.pkl"), { options: { python: warm } });
    await expect(untrusted).rejects.toThrow(/runs whatever code is in it.*-o allow_pickle=true/);
    const broken = join(tempFolder(), "broken.pkl");
    const text = join(tempFolder(), "text.joblib");
    writeFileSync(text, '{"a": 1}');
    await expect(loadModel("sklearn", text, { options })).rejects.toThrow(
      /^The file is text, such as JSON, and no pickle/,
    );
    writeFileSync(text, "\x08\x07\x12\x00");
    await expect(loadModel("sklearn", text, { options })).rejects.toThrow(
      /^The file is a model of another kind, .* no pickle/,
    );
    writeFileSync(broken, "csklearn.svm.no_such_module\nSVC\n.");
    await expect(loadModel("sklearn", broken, { options })).rejects.toThrow(
      /^The pickle needs the module "sklearn.svm.no_such_module", .* another version of sklearn wrote it\./,
    );
    writeFileSync(broken, "no pickle");
    await expect(loadModel("sklearn", broken, { options })).rejects.toThrow(/^The pickle cannot be loaded: /);
  });

  it.each([
    ["numbers", undefined],
    ["scaled", undefined],
    // What the first step gives has the names of what it takes.
    ["passed", true],
  ])(
    "knows the columns of %s.joblib to be numbers, unless a step may make numbers of them",
    async (name, isAssumed) => {
      const { signatures } = await loadModel("sklearn", pathOf(`${name}.joblib`), { options });
      const told = signatures.serving_default?.suggestedInputs?.map((each) => [each.name, each.dtype, each.isAssumed]);
      expect(told).toEqual(["size", "age"].map((column) => [column, "float64", isAssumed]));
    },
  );

  it("takes inputs by the names of the features, as the columns of a table", async () => {
    const model = await loadModel("sklearn", pathOf("columns.joblib"), { options });
    expect(model.signatures.serving_default?.suggestedInputs).toEqual([
      { name: "size", dtype: "float64", shape: [-1], isAssumed: true },
      { name: "kind", dtype: "bytes", shape: [-1], categories: ["no", "yes"] },
    ]);
    const kind = createTensor("bytes", [2, 1], [Buffer.from("no"), Buffer.from("yes")]);
    const size = createTensor("float32", [2], Float32Array.of(1, 2));
    expectTensors(await predict(model, { kind, size }), answersOf("columns.joblib"), 1e-6);
    const short = createTensor("float32", [1], Float32Array.of(1));
    await expect(predict(model, { kind, size: short })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "The inputs have different numbers of rows: 1, 2.",
    });
    const wide = createTensor("float32", [2, 2], Float32Array.of(1, 2, 3, 4));
    const texts = ["no", "yes", "no", "yes"].map((text) => Buffer.from(text));
    const four = createTensor("bytes", [2, 2], texts);
    await expect(predict(model, { kind: four, size: wide })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^Input "(kind|size)" is a column, .*; its shape is \[2, 2\]\.$/),
    });
    await expect(predict(model, { kind, other: size })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("size"),
    });
    await expect(predict(model, { kind: size, size })).rejects.toMatchObject({
      code: "invalid_argument",
      message: 'The values of "kind" are numbers; the model takes texts.',
    });
    await expect(predict(model, { kind, size: kind })).rejects.toMatchObject({
      code: "invalid_argument",
      message: 'The values of "size" are texts; the model takes float64.',
    });
  });

  it("blames no column of texts of which nothing is known for another one's unknown category", async () => {
    const model = await loadModel("sklearn", pathOf("untold.joblib"), { options });
    const texts = (text: string) => createTensor("bytes", [1], [Buffer.from(text)]);
    await predict(model, { city: texts("Rome"), kind: texts("no") });
    await expect(predict(model, { city: texts("Rome"), kind: texts("maybe") })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^Row 1, "kind": the value is 'maybe'; the model knows /),
    });
  });

  it("knows the number of features, and reports a wrong one with scikit-learn's text", async () => {
    const model = await loadModel("sklearn", pathOf("classifier.joblib"), { options });
    expect(model.signatures.serving_default?.suggestedInputs).toMatchObject([{ name: "input", shape: [-1, 3] }]);
    const narrow = createTensor("float32", [1, 2], Float32Array.of(1, 2));
    await expect(predict(model, { x: narrow })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("X has 2 features"),
    });
    await expect(predict(model, { x: rows, y: rows })).rejects.toThrow("The model takes one input; 2 came: x, y.");
  });
});
