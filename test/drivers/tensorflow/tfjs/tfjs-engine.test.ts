import { readFileSync, writeFileSync } from "node:fs";
import { memory } from "@tensorflow/tfjs-core";
import { type LayersModel, layers, sequential } from "@tensorflow/tfjs-layers";
import { describe, expect, it } from "vitest";
import { startTfjs } from "../../../../src/drivers/tensorflow/tfjs/tfjs-backend.ts";
import { toTfjsTensor } from "../../../../src/drivers/tensorflow/tfjs/tfjs-tensor.ts";
import { DEFAULT_SIGNATURE } from "../../../../src/tensor/signature/signature.ts";
import { createTensor, type Tensors } from "../../../../src/tensor/tensor.ts";
import { plain } from "../../../helpers/run-pipeline.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { describeDriver } from "../../driver-contract.ts";
import { overwriteTensors } from "../../expect-tensors.ts";
import { predict } from "../../predict.ts";
import {
  expectAsInPython,
  formatCase,
  formatCases,
  formatModel,
  formatModels,
  loadTensorflow,
  openTensorflow,
} from "../format-models.ts";
import { type GraphModelJson, writeGraphModel } from "./write-graph-model.ts";

const list = (...values: number[]) => createTensor("float32", [values.length], Float32Array.from(values));
const [none, five] = formatCases("js_control_flow/model.json").map((one) => ({ ...one, expected: one.outputs }));

await describeDriver({
  name: "tensorflow",
  modelPath: formatModel("js_control_flow/model.json"),
  samples: [none as NonNullable<typeof none>, five as NonNullable<typeof five>],
});

/** Largest errors of quantized weights; any other is exact to five digits. */
const TOLERANCES: Readonly<Record<string, number>> = { uint8: 2e-3, uint16: 1e-5, float16: 1e-4 };

describe("the tfjs engine", () => {
  const models = formatModels("json").filter((file) => file !== "js_table/model.json");

  it.each(models)("answers as TensorFlow does with %s", (file) =>
    expectAsInPython(file, TOLERANCES[/_(\w+)\//.exec(file.replace("js_convolution", ""))?.[1] ?? ""]),
  );

  it("looks texts and numbers up in tables, which it fills while it loads", async () => {
    const model = await loadTensorflow(formatModel("js_table/model.json"));
    const key = createTensor("int64", [2], BigInt64Array.of(5n, 6n));
    const { word, size } = await predict(model, { key });
    expect(plain({ word } as Tensors)).toEqual({ word: ["five", "none"] });
    expect(size).toEqual(createTensor("int64", [], BigInt64Array.of(3n)));
    expect((await predict(model, { key })).word).toEqual(word);
  });

  it("keeps nothing of its predicts, loops included, and nothing once it is closed", async () => {
    await startTfjs();
    const before = memory().numTensors;
    for (const name of ["js_lstm", "js_convolution_uint8"]) {
      const { inputs } = formatCase(`${name}/model.json`);
      const model = await openTensorflow(formatModel(`${name}/model.json`));
      const loaded = memory().numTensors;
      for (let run = 0; run < 3; run++) await predict(model, inputs);
      expect(memory().numTensors).toBe(loaded);
      await model.close();
      expect(memory().numTensors).toBe(before);
    }
  });

  it("stops a running loop when the deadline passes, and continues with the next request", async () => {
    const model = await loadTensorflow(formatModel("js_endless/model.json"));
    const scalar = (value: number) => createTensor("float32", [], Float32Array.of(value));
    const before = memory().numTensors;
    await expect(predict(model, { x: scalar(0) }, { deadlineMs: 50 })).rejects.toMatchObject({
      code: "deadline_exceeded",
      message: "The model was still running when the request's deadline passed.",
    });
    expect(memory().numTensors).toBe(before);
    expect(await predict(model, { x: scalar(2e9) }, { deadlineMs: 5000 })).toEqual({ x: scalar(2e9) });
  });

  it("gives integers the dtype and width of the signature", async () => {
    const { signatures } = await loadTensorflow(formatModel("js_int16/model.json"));
    expect(signatures[DEFAULT_SIGNATURE]?.inputs).toMatchObject([{ name: "x", dtype: "int16" }]);
  });

  it("takes placeholders and unused nodes for inputs and outputs where there is no signature", async () => {
    const model = await loadTensorflow(writeGraphModel(tempFolder(), DOUBLING));
    expect(model.signatures[DEFAULT_SIGNATURE]).toEqual({
      inputs: [{ name: "x", dtype: "float32", shape: [-1] }],
      outputs: [{ name: "y", dtype: "float32" }],
    });
    expect(await predict(model, { x: list(1, 2) })).toEqual({ y: list(2, 4) });
  });

  it("gives an input as an output, and a weight, each in memory of its own", async () => {
    const nodes = [DOUBLING.nodes[0], DOUBLING.nodes[1]] as GraphModelJson["nodes"];
    const signature = { inputs: { x: "x:0" }, outputs: { same: "x:0", weight: "w:0" } };
    const model = await loadTensorflow(writeGraphModel(tempFolder(), { ...DOUBLING, nodes, signature }));
    for (let run = 0; run < 2; run++) {
      const answer = await predict(model, { x: list(7) });
      expect(answer).toEqual({ same: list(7), weight: list(2) });
      overwriteTensors(answer);
    }
  });

  it("compares strings, on which WebAssembly aborts", async () => {
    const type = (name: string) => ({ attr: { dtype: { type: name }, T: { type: name } } });
    const nodes = [
      { name: "x", op: "Placeholder", ...type("DT_STRING") },
      { name: "z", op: "Placeholder", ...type("DT_STRING") },
      { name: "y", op: "Equal", input: ["x", "z"], ...type("DT_STRING") },
    ];
    const text = (name: string) => ({ name: `${name}:0`, dtype: "DT_STRING" });
    const signature = { inputs: { x: text("x"), z: text("z") }, outputs: { y: { name: "y:0", dtype: "DT_BOOL" } } };
    const model = await loadTensorflow(writeGraphModel(tempFolder(), { nodes, weights: {}, signature }));
    const texts = (...values: string[]) =>
      createTensor(
        "bytes",
        [values.length],
        values.map((value) => Buffer.from(value)),
      );
    for (let run = 0; run < 2; run++) {
      const { y } = await predict(model, { x: texts("a", "b"), z: texts("a", "c") });
      expect([...(y?.data ?? [])]).toEqual([1, 0]);
    }
  });

  it("loads a layers model in several weight files, whatever its layers would begin with", async () => {
    await startTfjs();
    const lstm = layers.lstm({ units: 3, recurrentInitializer: "glorotUniform", inputShape: [4, 2], name: "x" });
    const original = sequential({ layers: [lstm, layers.dense({ units: 2, name: "y" })] });
    const model = await loadTensorflow(await writeLayersModel(original));
    const x = createTensor(
      "float32",
      [2, 4, 2],
      Float32Array.from({ length: 16 }, (_, index) => Math.sin(index)),
    );
    const { y } = await predict(model, { x_input: x });
    const expected = original.predict(toTfjsTensor(x, "x")) as ReturnType<typeof toTfjsTensor>;
    expect(y).toEqual(createTensor("float32", [2, 2], expected.dataSync() as Float32Array));
  });
});

describe("what the tfjs engine refuses", () => {
  it("operators that TensorFlow.js lacks, by name", async () => {
    const nodes = DOUBLING.nodes.map((node) => (node.op === "Mul" ? { ...node, op: "Cholesky" } : node));
    const path = writeGraphModel(tempFolder(), { ...DOUBLING, nodes });
    await expectRefusal(path, /it has no operator Cholesky; serve the SavedModel that it was made from\.$/);
  });

  it("a model whose weight file is missing, or cut short, or outside its folder", async () => {
    const folder = tempFolder();
    const path = writeGraphModel(folder, DOUBLING);
    writeFileSync(`${folder}/w.bin`, new Uint8Array(3));
    await expectRefusal(path, /The weights of ".*model.json" are cut short: w\.bin have 3 bytes of 4\.$/);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replace("w.bin", "x.bin"));
    await expectRefusal(path, /The weight file "x\.bin" of ".*" is missing; put it next to the model\.json\.$/);
    writeFileSync(path, text.replace("w.bin", "../w.bin"));
    await expectRefusal(path, /"\.\.\/w\.bin" of ".*" lies outside the model's folder\.$/);
  });

  it("inputs of a type that TensorFlow.js has not", async () => {
    const [x, ...others] = DOUBLING.nodes as [GraphModelJson["nodes"][0], ...GraphModelJson["nodes"]];
    const nodes = [{ ...x, attr: { ...x.attr, dtype: { type: "DT_RESOURCE" } } }, ...others];
    const path = writeGraphModel(tempFolder(), { ...DOUBLING, nodes });
    await expectRefusal(path, /^Input "x" of the model is DT_RESOURCE, which cannot be served from a model\.json\.$/);
  });

  it("inputs without elements, on which WebAssembly traps", async () => {
    const model = await loadTensorflow(formatModel("js_convolution_uint8/model.json"));
    const { inputs } = formatCase("js_convolution_uint8/model.json");
    const [name] = Object.keys(inputs) as [string];
    const row = inputs[name]?.shape.slice(1) ?? [];
    const empty = { [name]: createTensor("float32", [0, ...row], new Float32Array()) };
    const error = {
      code: "invalid_argument",
      message: expect.stringContaining(`has shape [0,${row}], so no elements`),
    };
    await expect(predict(model, empty)).rejects.toMatchObject(error);
  });

  it("numbers beyond 32 bits", async () => {
    const model = await loadTensorflow(formatModel("js_table/model.json"));
    const key = createTensor("int64", [1], BigInt64Array.of(2n ** 40n));
    const expected = { code: "invalid_argument", message: expect.stringContaining('Input "key" has 1099511627776') };
    await expect(predict(model, { key })).rejects.toMatchObject(expected);
  });

  async function expectRefusal(path: string, message: RegExp): Promise<void> {
    const expected = { code: "failed_precondition", message: expect.stringMatching(message) };
    await expect(openTensorflow(path)).rejects.toMatchObject(expected);
  }
});

/** y = 2 x */
const DOUBLING: GraphModelJson = {
  nodes: [
    {
      name: "x",
      op: "Placeholder",
      attr: { dtype: { type: "DT_FLOAT" }, shape: { shape: { dim: [{ size: "-1" }] } } },
    },
    { name: "w", op: "Const", attr: { dtype: { type: "DT_FLOAT" } } },
    { name: "y", op: "Mul", input: ["x", "w"], attr: { T: { type: "DT_FLOAT" } } },
  ],
  weights: { w: [2] },
};

/** As a browser's download gives it, but with the weights in two files. */
async function writeLayersModel(model: LayersModel): Promise<string> {
  const folder = tempFolder();
  await model.save({
    save: async ({ modelTopology, weightSpecs, weightData }) => {
      const bytes = new Uint8Array(weightData as ArrayBuffer);
      writeFileSync(`${folder}/1.bin`, bytes.subarray(0, 50));
      writeFileSync(`${folder}/2.bin`, bytes.subarray(50));
      const weightsManifest = [{ paths: ["1.bin", "2.bin"], weights: weightSpecs }];
      const text = JSON.stringify({ format: "layers-model", modelTopology, weightsManifest });
      writeFileSync(`${folder}/model.json`, text.replaceAll("VarianceScaling", "Orthogonal"));
      return { modelArtifactsInfo: { dateSaved: new Date(), modelTopologyType: "JSON" } };
    },
  });
  return `${folder}/model.json`;
}
