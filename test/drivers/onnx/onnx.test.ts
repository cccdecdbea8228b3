import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Model } from "../../../src/drivers/driver.ts";
import { importOnnxRuntime } from "../../../src/drivers/onnx/onnx-runtime.ts";
import type { SessionHandle } from "../../../src/drivers/onnx/onnx-session.ts";
import { ENGINE_NAMES } from "../../../src/drivers/onnx/session-options.ts";
import type { DType, TensorData } from "../../../src/tensor/dtype.ts";
import { toFloat16 } from "../../../src/tensor/float16.ts";
import { DEFAULT_SIGNATURE } from "../../../src/tensor/signature/signature.ts";
import { createTensor, type Tensor, type Tensors } from "../../../src/tensor/tensor.ts";
import { encodeModel } from "../../fixtures/make/onnx-writer.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { describeDriver } from "../driver-contract.ts";
import { predict } from "../predict.ts";
import { loadOnnx, modelPath, openOnnx } from "./load-onnx.ts";

const row = (...values: number[]) => createTensor("float32", [1, values.length], Float32Array.from(values));
const list = (...values: number[]) => createTensor("float32", [values.length], Float32Array.from(values));
const texts = (...values: string[]) =>
  createTensor(
    "bytes",
    [values.length],
    values.map((value) => Buffer.from(value)),
  );

/** True where Linux grants more memory than there is, and kills a process that uses it. */
const PROMISES_ANY_MEMORY = isOvercommitting();

function isOvercommitting(): boolean {
  const file = "/proc/sys/vm/overcommit_memory";
  const isSo = existsSync(file) && readFileSync(file, "utf8").trim() === "1";
  if (isSo) process.stderr.write("A model that needs too much memory is not run: vm.overcommit_memory is 1.\n");
  return isSo;
}

const subject = {
  name: "onnx",
  runtime: () => import("onnxruntime-node"),
  modelPath: modelPath("split-two-outputs.onnx"),
  samples: [
    { inputs: { x: row(1, 2, 3, 4) }, expected: { left: row(1, 2), right: row(3, 4) } },
    { inputs: { x: row(-1, 0, 5, 6) }, expected: { left: row(-1, 0), right: row(5, 6) } },
  ],
} as const;
const [isInstalled] = await Promise.all(
  ENGINE_NAMES.map((engine) => describeDriver({ ...subject, options: { intra_op_threads: "1", engine } })),
);

describe.skipIf(!isInstalled).each(ENGINE_NAMES)("the onnx driver with engine=%s", (engine) => {
  const load = (name: string) => loadOnnx(name, { engine });
  const open = (name: string) => openOnnx(name, { engine });

  it.each<[DType, TensorData]>([
    ["bool", Uint8Array.of(1, 0)],
    ["uint8", Uint8Array.of(0, 255)],
    ["uint16", Uint16Array.of(0, 65535)],
    ["uint32", Uint32Array.of(0, 2 ** 32 - 1)],
    ["uint64", BigUint64Array.of(2n ** 53n + 1n, 2n ** 64n - 1n)],
    ["int8", Int8Array.of(-128, 127)],
    ["int16", Int16Array.of(-32768, 32767)],
    ["int32", Int32Array.of(-(2 ** 31), 2 ** 31 - 1)],
    ["int64", BigInt64Array.of(-(2n ** 63n), 2n ** 53n + 1n)],
    ["float16", Uint16Array.of(toFloat16(-1.5), toFloat16(65504), toFloat16(Number.NaN))],
    ["float32", Float32Array.of(-0, Number.NaN, Number.NEGATIVE_INFINITY, 1.5)],
    ["float64", Float64Array.of(Number.MIN_VALUE, Number.MAX_VALUE, 0.1)],
    ["bytes", [new Uint8Array(Buffer.from("größe")), new Uint8Array(Buffer.from("\ufeffmarked")), new Uint8Array()]],
  ])("carries %s both ways, none of it included", async (dtype, data) => {
    const model = await load(`identity-${dtype === "bytes" ? "string" : dtype}.onnx`);
    const full = createTensor(dtype, [data.length], data);
    const empty = createTensor(dtype, [0], data.slice(0, 0));
    expect((await predict(model, { x: full })).y).toEqual(full);
    expect((await predict(model, { x: empty })).y).toEqual(empty);
  });

  it("gives each output a buffer of its own that holds nothing else, so that it can be transferred", async () => {
    const model = await load("split-two-outputs.onnx");
    const { left, right } = (await predict(model, { x: row(1, 2, 3, 4) })) as Record<string, Tensor<"float32">>;
    expect(left?.data.buffer.byteLength).toBe(8);
    expect(left?.data.buffer).not.toBe(right?.data.buffer);
  });

  it("takes inputs in memory that threads share", async () => {
    const shared = new Float32Array(new SharedArrayBuffer(8));
    shared.set([1, 2]);
    const model = await load("identity-float32.onnx");
    expect((await predict(model, { x: createTensor("float32", [2], shared) })).y?.data).toEqual(Float32Array.of(1, 2));
  });

  it("takes and gives scalars", async () => {
    const model = await load("scalar.onnx");
    expect(model.signatures[DEFAULT_SIGNATURE]?.inputs).toEqual([{ name: "x", dtype: "float32", shape: [] }]);
    const scalar = createTensor("float32", [], Float32Array.of(3));
    expect((await predict(model, { x: scalar })).y).toEqual(createTensor("float32", [], Float32Array.of(-3)));
  });

  it("distinguishes an input of any rank from a scalar", async () => {
    const model = await load("any-rank.onnx");
    expect(model.signatures[DEFAULT_SIGNATURE]?.inputs).toEqual([{ name: "x", dtype: "float32" }]);
    expect((await predict(model, { x: row(1, 2) })).y).toEqual(row(-1, -2));
  });

  it("shows symbolic and unknown dimensions as any size", async () => {
    const model = await load("symbolic-dims.onnx");
    expect(model.signatures[DEFAULT_SIGNATURE]).toEqual({
      inputs: [{ name: "image", dtype: "float32", shape: [-1, 3, -1, -1] }],
      outputs: [{ name: "mean", dtype: "float32", shape: [-1, 3] }],
    });
  });

  it("finds a model's data file next to it", async () => {
    const model = await load("external-data.onnx");
    expect((await predict(model, { x: list(1, 2, 3) })).y).toEqual(list(11, 22, 33));
  });

  it("names the data file that is missing or cut short", async () => {
    const folder = tempFolder({ "model.onnx": readFileSync(modelPath("external-data.onnx")) });
    await expect(open(`${folder}/model.onnx`)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining('External data path does not exist: "external-data.bin"'),
    });
    writeFileSync(`${folder}/external-data.bin`, new Uint8Array(4));
    await expect(open(`${folder}/model.onnx`)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(
        /: Exception during initialization: External initializer: w offset: 0 size to read: 12 given file_length: 4 /,
      ),
    });
  });

  it("loads ONNX Runtime's own format, in which a scalar and an unknown rank are alike", async () => {
    const path = `${tempFolder()}/scalar.ort`;
    const { InferenceSession } = (await importOnnxRuntime()).api;
    const options = { optimizedModelFilePath: path, graphOptimizationLevel: "basic" } as const;
    await (await InferenceSession.create(modelPath("scalar.onnx"), options)).release();
    const model = await load(path);
    expect(model.signatures[DEFAULT_SIGNATURE]?.inputs).toEqual([{ name: "x", dtype: "float32" }]);
    const scalar = createTensor("float32", [], Float32Array.of(3));
    expect((await predict(model, { x: scalar })).y?.data).toEqual(Float32Array.of(-3));
  });

  it("loads a model that leaves the type of an output to be inferred", async () => {
    const graph = {
      name: "inferred",
      inputs: [{ name: "x", type: { elemType: "float32", shape: ["N"] } }],
      outputs: [{ name: "y" }],
      nodes: [{ op: "Neg", inputs: ["x"], outputs: ["y"] }],
    } as const;
    const model = await load(`${tempFolder({ "model.onnx": encodeModel({ opset: 17, graph }) })}/model.onnx`);
    expect(model.signatures[DEFAULT_SIGNATURE]?.outputs).toEqual([{ name: "y", dtype: "float32", shape: [-1] }]);
  });

  it("takes batches of any size where the model does", async () => {
    const model = await load("matmul-dynamic-batch.onnx");
    const batch = createTensor("float32", [2, 3], Float32Array.of(1, 0, 0, 0, 0, 1));
    expect((await predict(model, { x: batch })).y?.data).toEqual(Float32Array.of(1, 2, 5, 6));
  });

  it("treats names that objects inherit like any others", async () => {
    const model = await load("odd-names.onnx");
    const { inputs = [], outputs = [] } = model.signatures[DEFAULT_SIGNATURE] ?? {};
    const given = Object.fromEntries(inputs.map(({ name }, index) => [name, list(index)]));
    const all = await predict(model, given);
    expect(Object.keys(all)).toEqual(outputs.map(({ name }) => name));
    expect(all.Größe).toEqual(list(-5));
    expect(Object.keys(await predict(model, given, { outputs: ["output:0"] }))).toEqual(["output:0"]);
  });

  it("takes inputs with values of their own, which may be left out", async () => {
    const model = await load("default-input.onnx");
    const bias = createTensor("float32", [], Float32Array.of(100));
    const x = { name: "x", dtype: "float32", shape: [-1] };
    const optional = { name: "bias", dtype: "float32", shape: [], default: bias };
    // The JavaScript API does not take them.
    expect(model.signatures[DEFAULT_SIGNATURE]?.inputs).toEqual(engine === "node" ? [x] : [x, optional]);
    expect((await predict(model, { x: list(1) })).y).toEqual(list(101));
    if (engine === "node") return;
    const other = createTensor("float32", [], Float32Array.of(-1));
    expect((await predict(model, { x: list(1), bias: other })).y).toEqual(list(0));
    expect((await predict(model, { x: list(1) })).y).toEqual(list(101));
  });

  it.each([
    [
      "not UTF-8",
      createTensor("bytes", [2], [Buffer.from("a"), Buffer.from([0xff])]),
      '"x" is not valid UTF-8 in element 1',
    ],
  ])("refuses %s where the model takes text", async (_what, x, message) => {
    const model = await load("identity-string.onnx");
    const expected = { code: "invalid_argument", message: expect.stringContaining(message) };
    await expect(predict(model, { x })).rejects.toMatchObject(expected);
  });

  it(`${engine === "native" ? "carries" : "refuses"} texts with zero bytes`, async () => {
    const model = await load("identity-string.onnx");
    const given = ["a\0b", "", "\0", "é\0\0"];
    const answer = predict(model, { x: texts(...given) });
    const toTexts = ({ y }: Tensors) => (y as Tensor<"bytes">).data.map((text) => Buffer.from(text).toString());
    if (engine === "native") expect(toTexts(await answer)).toEqual(given);
    else
      await expect(answer).rejects.toMatchObject({
        code: "invalid_argument",
        message: expect.stringMatching(/^Input "x" has a zero byte in element 0, .* -o engine=native\.$/),
      });
    expect(toTexts(await predict(model, { x: texts("next") }))).toEqual(["next"]);
  });

  it("blames the inputs, with the operator's name and reason, when it refuses their values", async () => {
    const model = await load("fails-at-run.onnx");
    const index = createTensor("int64", [1], BigInt64Array.of(3n));
    await expect(predict(model, { index })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(
        /^The model failed in Gather "pick": indices element out of data bounds, idx=3 .*The inputs were index int64\[1\]\.$/,
      ),
    });
    const good = createTensor("int64", [1], BigInt64Array.of(2n));
    expect((await predict(model, { index: good })).value).toEqual(list(30));
  });

  it.skipIf(PROMISES_ANY_MEMORY)("distinguishes a model that needs too much memory from one that fails", async () => {
    const model = await load("zeros.onnx");
    const shape = (...sizes: bigint[]) => createTensor("int64", [sizes.length], BigInt64Array.from(sizes));
    await expect(predict(model, { shape: shape(2n ** 40n, 4n) })).rejects.toMatchObject({
      code: "resource_exhausted",
      message: expect.stringMatching(
        /^The model failed in ConstantOfShape "fill": Failed to allocate memory for requested buffer of size 17592186044416/,
      ),
    });
    expect((await predict(model, { shape: shape(1n, 2n) })).zeros?.shape).toEqual([1, 2]);
  });

  it("blames the inputs when two of them disagree about a dimension", async () => {
    const model = await load("add-two-inputs.onnx");
    await expect(predict(model, { a: list(1, 2), b: list(1, 2, 3) })).rejects.toMatchObject({
      code: "invalid_argument",
      message: 'Dimension "N" is 2 in input "a" and 3 in input "b"; the model takes one size for both.',
    });
  });

  it.each([
    ["rank", list(1, 2, 3, 4), "Invalid rank for input: x Got: 1 Expected: 2."],
    ["dtype", createTensor("int32", [1, 4], new Int32Array(4)), "Unexpected input data type."],
  ])("blames the input for a wrong %s that was not checked before", async (_what, x, message) => {
    const model = await load("split-two-outputs.onnx");
    const expected = { code: "invalid_argument", message: expect.stringContaining(message) };
    await expect(predict(model, { x })).rejects.toMatchObject(expected);
  });

  it("refuses to run after it was closed", async () => {
    const model = await open("half-plus-two.onnx");
    await model.close();
    await expect(predict(model, { x: list(1) })).rejects.toMatchObject({ code: "failed_precondition" });
  });
});

describe.skipIf(!isInstalled).each(ENGINE_NAMES)("the session that hooks receive with engine=%s", (engine) => {
  const load = (name: string) => loadOnnx(name, { engine });

  it("runs the model on plain values and tensors, for all outputs or some", async () => {
    const session = sessionOf(await load("split-two-outputs.onnx"));
    expect(session).toMatchObject({ inputNames: ["x"], outputNames: ["left", "right"] });
    expect(await session.run({ x: [[1, 2, 3, 4]] })).toEqual({ left: row(1, 2), right: row(3, 4) });
    expect(await session.run({ x: row(1, 2, 3, 4) }, ["right"])).toEqual({ right: row(3, 4) });
  });

  it("comes with the inputs' shapes and the outputs' names", async () => {
    const { hookArgs } = await load("split-two-outputs.onnx");
    expect(hookArgs).toMatchObject({ model_inputs: { x: [-1, 4] }, model_outputs: ["left", "right"] });
  });

  it.each([
    [
      "an input that the model lacks",
      { x: [[1, 2, 3, 4]], y: 1 },
      undefined,
      'The model has no input "y". Did you mean "x"? It has x.',
    ],
    [
      "an output that the model lacks",
      { x: [[1, 2, 3, 4]] },
      ["rigth"],
      'The model has no output "rigth". Did you mean "right"? It has left, right.',
    ],
    ["a missing input", {}, undefined, 'Input "x" is missing; session.run takes x.'],
    ["a wrong rank", { x: [1, 2, 3, 4] }, undefined, "Invalid rank for input: x Got: 1 Expected: 2."],
    [
      "a wrong dimension",
      { x: [[1, 2, 3]] },
      undefined,
      "Got invalid dimensions for input: x for the following indices index: 1 Got: 3 Expected: 4.",
    ],
    ["a wrong dtype", { x: [["text"]] }, undefined, 'Input "x" is bytes; the model takes float32.'],
  ])("refuses %s", async (_what, feeds, fetches, message) => {
    const session = sessionOf(await load("split-two-outputs.onnx"));
    await expect(session.run(feeds as never, fetches)).rejects.toMatchObject({ code: "invalid_argument", message });
  });
});

function sessionOf(model: Model): SessionHandle {
  return model.hookArgs?.session as SessionHandle;
}
