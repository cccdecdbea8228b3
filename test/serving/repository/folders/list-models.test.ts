import { describe, expect, test } from "vitest";
import { inspectModel, listModels } from "../../../../src/serving/repository/folders/list-models.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";

/** The models of a folder with these files: driver, versions, or why they are not served. */
async function modelsOf(files: Readonly<Record<string, string>>) {
  const folder = tempFolder(files);
  const { models, warnings } = await listModels(folder);
  const inspected = await Promise.all(models.map(inspectModel));
  return {
    models: Object.fromEntries(
      inspected.map(({ config, driver, chosen, problem }) => [
        config.name,
        problem?.replaceAll(folder, "") ?? [driver, ...chosen],
      ]),
    ),
    configs: models,
    warnings: warnings.map((text) => text.replaceAll(`${folder}/`, "")),
    folder,
  };
}

describe("a folder of models", () => {
  test("has one in each folder and each model's file, of any framework, with versions or without", async () => {
    const { models } = await modelsOf({
      "emotion/1/model.onnx": "",
      "emotion/3/whatever.onnx": "",
      "faces/face.xml": "",
      "faces/face.bin": "",
      "half/00000123/saved_model.pb": "",
      "iris.joblib": "",
      "naïve model: 50%/1/m.pt": "",
      "README.md": "",
      ".git/HEAD": "",
      "lost+found/x": "",
    });
    expect(models).toEqual({
      emotion: ["onnx", 3n],
      faces: ["openvino", 1n],
      half: ["tensorflow", 123n],
      iris: ["sklearn", 1n],
      "naïve model: 50%": ["pytorch", 1n],
    });
  });

  test("that is a model itself, or holds versions, is that model", async () => {
    const flat = await modelsOf({ "saved_model.pb": "" });
    expect(Object.values(flat.models)).toEqual([["tensorflow", 1n]]);
    const versions = await modelsOf({ "1/model.onnx": "", "2/model.onnx": "" });
    expect(versions.configs).toMatchObject([{ name: versions.folder.split("/").at(-1), path: versions.folder }]);
    for (const file of ["1/model.onnx", "model.onnx"]) {
      const described = await modelsOf({
        "config.pbtxt": 'name: "own" max_batch_size: 4 dynamic_batching {}',
        [file]: "",
      });
      expect(described.configs).toMatchObject([{ name: "own", options: { max_batch_size: "4" } }]);
      expect(described.models).toEqual({ own: ["onnx", 1n] });
    }
    const broken = await modelsOf({ "config.pbtxt": "max_batch_size: -1", "model.onnx": "" });
    expect(Object.values(broken.models)).toEqual([expect.stringContaining('"max_batch_size" is "-1"')]);
  });

  test("takes the model called model of several, and refuses several others", async () => {
    const { models } = await modelsOf({
      "a/1/model.onnx": "",
      "a/1/more.onnx": "",
      "b/1/x.onnx": "",
      "b/1/y.onnx": "",
    });
    expect(models).toEqual({
      a: ["onnx", 1n],
      b: 'The folder "/b/1" has several models; expected one, or the path of one.',
    });
  });

  test("keeps its good models next to broken ones", async () => {
    const { models, warnings } = await modelsOf({
      "good/1/m.onnx": "",
      "empty/1/.keep": "",
      "docs/a.md": "",
      "good.onnx": "",
    });
    expect(warnings).toEqual([
      "good.onnx is left out, since there is another model called good; give it another name.",
    ]);
    expect(models).toEqual({
      good: ["onnx", 1n],
      docs: expect.stringContaining('The folder "/docs" has no version; expected folders of versions'),
      empty: expect.stringContaining("No driver recognises /empty/1 by its name"),
    });
  });

  test.each([
    ["is empty", {}, "has no model, it is empty"],
    ["has other things", { "a.txt": "" }, "has no model; expected a folder for each model"],
  ])("that %s is refused", async (_, files, message) => {
    await expect(listModels(tempFolder(files))).rejects.toThrow(message);
  });

  test("that is a file is refused as one", async () => {
    const folder = tempFolder({ "m.onnx": "" });
    await expect(listModels(`${folder}/m.onnx`)).rejects.toThrow(/m\.onnx" is a file; expected a folder of models/);
  });
});

describe("Triton's config.pbtxt", () => {
  test("says what serves a model, with which options, and what its signature has to have", async () => {
    const { configs, models, warnings, folder } = await modelsOf({
      "text/config.pbtxt": `
        name: "text" platform: "onnxruntime_onnx" max_batch_size: 8
        input [ { name: "in" data_type: TYPE_FP32 dims: [ 3, -1 ] }, { name: "word" data_type: TYPE_STRING dims: 1 reshape { shape: [ ] } } ]
        output { name: "out", data_type: TYPE_INT64, dims: [ 10 ] }
        dynamic_batching { preferred_batch_size: [4, 8] max_queue_delay_microseconds: 100 }
        instance_group [ { count: 2 kind: KIND_CPU }, { kind: KIND_GPU gpus: [ 0 ] } ]
        version_policy: { all { } }
        default_model_filename: "other.onnx"
        parameters { key: "intra_op_thread_count" value: { string_value: "3" } }
        parameters: { key: "odd" value: { string_value: "x" } }`,
      "text/1/other.onnx": "",
      "text/1/model.onnx": "",
      "text/2/other.onnx": "",
    });
    expect(models).toEqual({ text: ["onnx", 1n, 2n] });
    expect(configs).toMatchObject([
      {
        path: `${folder}/text`,
        driver: "onnx",
        file: "other.onnx",
        versions: { kind: "all" },
        instances: 3,
        options: { max_batch_size: "8", batch_timeout_us: "100", intra_op_threads: "3" },
        expected: {
          inputs: [
            { name: "in", dtype: "float32", shape: [-1, 3, -1] },
            { name: "word", dtype: "bytes", shape: [-1] },
          ],
          outputs: [{ name: "out", dtype: "int64", shape: [-1, 10] }],
        },
      },
    ]);
    expect(warnings.map((text) => text.replace(/: .*?(["[])/, ": $1").split(" changes")[0])).toEqual([
      'text/config.pbtxt:5:28: "preferred_batch_size"',
      'text/config.pbtxt:6:63: "kind: KIND_GPU"',
      'text/config.pbtxt:6:72: "gpus"',
      'text/config.pbtxt:10:57: "odd"',
    ]);
  });

  test("without dynamic_batching puts no requests together, and without a backend leaves the driver to the file", async () => {
    const { configs, models } = await modelsOf({ "a/config.pbtxt": "max_batch_size: 8", "a/1/model.onnx": "" });
    expect(models).toEqual({ a: ["onnx", 1n] });
    expect(configs[0]?.options).toEqual({ max_request_rows: "8" });
  });

  test("describes the inputs and outputs of TorchScript and frozen graphs", async () => {
    const { configs } = await modelsOf({
      "t/config.pbtxt":
        'backend: "pytorch" input { name: "INPUT__0" data_type: TYPE_FP32 dims: [3, -1] } output { name: "OUTPUT__0" data_type: TYPE_FP32 dims: 2 }',
      "g/config.pbtxt":
        'platform: "tensorflow_graphdef" input { name: "x" data_type: TYPE_FP32 dims: 2 } output { name: "y" data_type: TYPE_FP32 dims: 2 }',
    });
    expect(configs.map(({ options }) => options)).toEqual([
      { inputs: "x", outputs: "y" },
      { inputs: "INPUT__0:float32[3,-1]", outputs: "OUTPUT__0" },
    ]);
  });

  test.each([
    ['platform: "ensemble"', "the ensemble m has no step; expected ensemble_scheduling"],
    ["ensemble_scheduling { }", 'the ensemble m has the platform "" and the backend ""; expected platform: "ensemble"'],
    ['platform: "ensemble" backend: "onnxruntime"', 'the ensemble m has the platform "ensemble" and the backend "onn'],
    ...["instance_group [ { count: 2 } ]", "optimization { }", "dynamic_batching { }", "sequence_batching { }"].map(
      (text) => [
        `platform: "ensemble" ${text}`,
        `the ensemble m has "${text.split(" ")[0]}", which belongs to its models; move it to their config.pbtxt`,
      ],
    ),
    [
      'platform: "ensemble" model_warmup [ { name: "w" } ]',
      'the ensemble m has "model_warmup", which belongs to its models',
    ],
    [
      'backend: "python"',
      "m has the backend python, which is not served; write its model.py as hooks, or as a class for the python driver.",
    ],
    [
      'name: "n" backend: "onnxruntime"',
      "its config.pbtxt is of a model called n, its folder is called m; expected the same name.",
    ],
    [
      'backend: "onnxruntime" sequence_batching { }',
      "m batches sequences of requests, which is not done here; remove sequence_batching",
    ],
    ["max_batch_size: -2", '/m/config.pbtxt:1:17: "max_batch_size" is "-2"; expected an integer of 0 or more.'],
    ['input { name: "x" dims: 1 }', '/m/config.pbtxt:1:7: "input" lacks the key "data_type"'],
    ["inputs { }", '/m/config.pbtxt:1:1: The config.pbtxt has no key "inputs". Did you mean "input"?'],
    ["input {", "/m/config.pbtxt:1:8: the end of the file is not a field's name"],
  ])("that cannot be honoured has its model refused, not the others: %s", async (text, problem) => {
    const { models } = await modelsOf({ "m/config.pbtxt": text, "m/1/model.onnx": "", "good/1/m.onnx": "" });
    expect(models).toEqual({ good: ["onnx", 1n], m: expect.stringContaining(problem) });
  });
});
