import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { DType } from "../../../../src/tensor/dtype.ts";
import { DEFAULT_SIGNATURE } from "../../../../src/tensor/signature/signature.ts";
import { createTensor, type Tensor } from "../../../../src/tensor/tensor.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { missingRuntime } from "../../missing-runtime.ts";
import { predict } from "../../predict.ts";
import { type NodeJson, placeholder, type, writeGraph } from "../portable/graph-writer.ts";
import { tensorflowModel } from "../tensorflow-cases.ts";
import { floats, loadNative, openNative, texts } from "./open-native.ts";
import { tensorflowRuntime } from "./tensorflow-runtime.ts";

const missing = await missingRuntime("The tensorflow driver's native engine", tensorflowRuntime);

/** A copy of a model that a test may damage. */
function copyOf(name: string): string {
  const folder = tempFolder();
  cpSync(tensorflowModel(name), folder, { recursive: true });
  return folder;
}

describe.skipIf(missing !== undefined)("the native engine", () => {
  it("serves every signature of a model, with its own inputs", async () => {
    const model = await loadNative("many_signatures");
    expect(Object.keys(model.signatures).sort()).toEqual(["constant", "integers", "serving_default"]);
    expect(model.signatures.integers?.inputs).toMatchObject([{ name: "n", dtype: "int64", shape: [-1] }]);
    expect(model.signatures.constant).toMatchObject({ inputs: [], outputs: [{ dtype: "int32", shape: [] }] });
  });

  it("makes another signature the default", async () => {
    const model = await loadNative("many_signatures", { model_signature: "integers" });
    expect(model.signatures[DEFAULT_SIGNATURE]).toEqual(model.signatures.integers);
  });

  it("keeps every bit of a 64-bit integer", async () => {
    const model = await loadNative("dtype_int64");
    const x = createTensor("int64", [2], BigInt64Array.of(2n ** 53n + 1n, -(2n ** 63n)));
    expect((await predict(model, { x })).same).toEqual(x);
  });

  it.each<[DType, Tensor["data"]]>([
    ["int8", new Int8Array()],
    ["float16", new Uint16Array()],
    ["complex64", new Float32Array()],
    ["bytes", []],
  ])("carries a tensor of %s without elements", async (dtype, data) => {
    const model = await loadNative(`dtype_${{ float16: "half", bytes: "string" }[dtype as string] ?? dtype}`);
    const x = createTensor(dtype, [0], data as never) as Tensor;
    const square = dtype === "complex64" ? "square" : "same";
    expect((await predict(model, { x }))[square]).toEqual(x);
  });

  it("carries strings of any bytes and lengths", async () => {
    const model = await loadNative("dtype_string");
    const data = [
      new Uint8Array(),
      Uint8Array.of(0, 255, 0),
      new Uint8Array(300).fill(7),
      new Uint8Array(70_000).fill(9),
    ];
    const x = createTensor("bytes", [4], data);
    expect((await predict(model, { x })).same).toEqual(x);
  });

  it("takes inputs in memory that threads share", async () => {
    const shared = new Float32Array(new SharedArrayBuffer(8));
    shared.set([4, 9]);
    const model = await loadNative("assertion");
    expect((await predict(model, { x: createTensor("float32", [2], shared) })).y).toEqual(floats([2], 2, 3));
  });

  it("gives each output a buffer of its own that holds nothing else, so that it can be transferred", async () => {
    const model = await loadNative("control_flow");
    const n = createTensor("int32", [], Int32Array.of(1));
    const { y, i } = (await predict(model, { x: floats([2], 1, 2), n })) as Record<string, Tensor<"float32">>;
    expect(y?.data.buffer.byteLength).toBe(8);
    expect(y?.data.buffer).not.toBe(i?.data.buffer);
  });

  it("keeps a model's variables between requests, and apart from those of another copy", async () => {
    const [one, other] = [await loadNative("counter"), await loadNative("counter")];
    const x = floats([1], 1);
    const totals = [];
    for (const model of [one, one, other]) totals.push((await predict(model, { x })).total?.data[0]);
    expect(totals).toEqual([4, 5, 4]);
  });

  it("uses the default of an input that a request leaves out", async () => {
    const model = await loadNative("defaults");
    expect(model.signatures[DEFAULT_SIGNATURE]?.inputs).toMatchObject([
      { name: "scale", default: { dtype: "float32", shape: [], data: Float32Array.of(2.5) } },
      { name: "x" },
    ]);
    expect((await predict(model, { x: floats([1], 2) })).y).toEqual(floats([1], 5));
  });

  it("ends a run that takes longer than the request's deadline, and serves the next", async () => {
    const model = await loadNative("endless");
    await expect(predict(model, { x: floats([], 1) }, { deadlineMs: 50 })).rejects.toMatchObject({
      code: "deadline_exceeded",
    });
    expect((await predict(model, { x: floats([], 2e9) }, { deadlineMs: 5000 })).x).toEqual(floats([], 2e9));
  });

  it("lets go of a run whose request was cancelled, and ends it when it is closed", async () => {
    const model = await openNative("endless");
    const controller = new AbortController();
    const run = predict(model, { x: floats([], 1) }, { signal: controller.signal });
    controller.abort();
    await expect(run).rejects.toMatchObject({ code: "cancelled" });
    await model.close();
  });

  it("answers the runs under way when it is closed", async () => {
    const model = await openNative("control_flow");
    const n = createTensor("int32", [], Int32Array.of(3));
    const runs = Array.from({ length: 8 }, (_, value) => predict(model, { x: floats([2], value, 0), n }));
    await model.close();
    expect((await Promise.all(runs)).map(({ i }) => i)).toEqual(runs.map(() => n));
  });

  it("refuses to run after it was closed", async () => {
    const model = await openNative("counter");
    await model.close();
    await expect(predict(model, { x: floats([1], 1) })).rejects.toMatchObject({ code: "failed_precondition" });
  });
});

describe.skipIf(missing !== undefined)("the native engine, with a frozen graph,", () => {
  it("finds inputs and outputs itself", async () => {
    const model = await loadNative("frozen_graph");
    const { inputs, outputs } = model.signatures[DEFAULT_SIGNATURE] ?? {};
    expect(inputs).toMatchObject([{ name: "x", dtype: "float32", shape: [-1, 3] }]);
    expect(outputs?.map(({ name }) => name)).toEqual(["Identity", "Identity_1"]);
  });

  it("leaves out what a run cannot give: the ends of branches that are not taken", async () => {
    const T = { T: type("float32") };
    const graph = writeGraph([
      placeholder("x", floats([2], 0, 0)),
      placeholder("p", createTensor("bool", [], new Uint8Array(1))),
      { name: "s", op: "Switch", input: ["x", "p"], attr: T },
      { name: "end_true", op: "Identity", input: ["s:1"], attr: T },
      { name: "end_false", op: "Identity", input: ["s"], attr: T },
      { name: "neg", op: "Neg", input: ["s"], attr: T },
      { name: "m", op: "Merge", input: ["neg", "s:1"], attr: { ...T, N: { i: "2" } } },
      { name: "y", op: "Identity", input: ["m"], attr: T },
    ]);
    const model = await loadNative(join(tempFolder({ "frozen.pb": graph }), "frozen.pb"));
    const answer = async (p: number) =>
      predict(model, { x: floats([2], 1, 2), p: createTensor("bool", [], Uint8Array.of(p)) });
    expect(await answer(1)).toEqual({ y: floats([2], 1, 2) });
    expect(await answer(0)).toEqual({ y: floats([2], -1, -2) });
  });

  it("takes inputs and outputs by the names that the options give them, with or without a number", async () => {
    const model = await loadNative("frozen_graph", { inputs: "x:0", outputs: "Identity_1:0, Identity" });
    const answer = await predict(model, { "x:0": floats([1, 3], 1, 0, 0) });
    expect(Object.keys(answer)).toEqual(["Identity_1:0", "Identity"]);
  });

  it.each([
    ["inputs", "y", 'Option "inputs": The graph has no operation "y".'],
    ["outputs", "Identty", 'Option "outputs": The graph has no operation "Identty". Did you mean "Identity"?'],
    ["outputs", "Identity:1", 'Option "outputs": The operation "Identity" has one output; there is no "Identity:1".'],
  ])("names a tensor of -o %s= that it lacks: %s", async (option, name, message) => {
    await expect(openNative("frozen_graph", { [option]: name })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining(message),
    });
  });

  it("names the operation that TensorFlow does not know", async () => {
    await expect(openNative("unknown_operation")).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/^TensorFlow [\d.]+ has no op "NobodyKnowsThis", .* -o custom_op_paths=/),
    });
  });

  it("refuses one whose variables were not frozen, and leaves out what needs one", async () => {
    const attr = { dtype: type("float32"), shape: { shape: {} } };
    const T = { T: type("float32") };
    const x = placeholder("x", floats([2], 1, 2));
    const nodes = [x, { name: "v", op: "VariableV2", attr }, { name: "y", op: "Mul", input: ["x", "v"], attr: T }];
    const open = (...more: NodeJson[]) =>
      openNative(`${tempFolder({ "graph.pb": writeGraph([...nodes, ...more]) })}/graph.pb`);
    await expect(open()).rejects.toThrow(
      /^The graph is not frozen: all its outputs need variables, .* SavedModel of it/,
    );
    const model = await open({ name: "z", op: "Neg", input: ["x"], attr: T });
    onTestFinished(() => model.close());
    expect(model.signatures[DEFAULT_SIGNATURE]?.outputs).toMatchObject([{ name: "z" }]);
  });

  it("refuses one that is cut short", async () => {
    const whole = readFileSync(tensorflowModel("frozen_graph"));
    const folder = tempFolder({ "cut.pb": whole.subarray(0, whole.length - 20) });
    await expect(openNative(`${folder}/cut.pb`)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/cut\.pb" is not a frozen graph, or it is cut short \(801 bytes\)\.$/),
    });
  });
});

describe.skipIf(missing !== undefined)("the native engine refuses a SavedModel", () => {
  it("whose graph is cut short", async () => {
    const folder = copyOf("counter");
    truncateSync(`${folder}/saved_model.pb`, 1000);
    await expectRefusal(openNative(folder), /saved_model.pb" is not a SavedModel, or it is cut short \(1000 bytes\)/);
  });

  it("whose variables are missing", async () => {
    const folder = copyOf("many_signatures");
    rmSync(`${folder}/variables`, { recursive: true });
    await expectRefusal(
      openNative(folder),
      /has variables, but not their values: variables\/variables.index is missing/,
    );
  });

  it("whose shard is cut short", async () => {
    const folder = copyOf("many_signatures");
    truncateSync(`${folder}/variables/variables.data-00000-of-00001`, 10);
    await expectRefusal(
      openNative(folder),
      /cannot load ".*": its variables cannot be read: Read less bytes than requested/,
    );
  });

  it("without the tags that were asked for, and lists those that exist", async () => {
    await expectRefusal(openNative("many_signatures", { tags: "gpu" }), /tags "gpu"; it has: serve/);
    await expectRefusal(openNative("tensorflow_1", { tags: "serve" }), /tags "serve"; it has: serve,cpu/);
  });

  it("without the signature that was asked for, and lists those that exist", async () => {
    await expectRefusal(
      openNative("many_signatures", { model_signature: "integer" }),
      /no signature "integer"; it has: .*Did you mean "integers"/,
    );
  });
});

describe.skipIf(missing !== undefined)("the native engine says what was wrong with an input:", () => {
  it.each([
    ["a wrong dtype", texts("a"), 'Input "x" is bytes; the model takes float32.'],
    [
      "dimensions that do not fit",
      floats([2, 2], 1, 2, 3, 4),
      /^The model failed in node ".*MatMul": Matrix size-incompatible: .*The inputs were .*x float32\[2,2\]/,
    ],
    ["a wrong rank", floats([3], 1, 2, 3), /^The model failed in node ".*MatMul": .*The inputs were .*x float32\[3\]/],
  ])("%s", async (_what, x, message) => {
    const model = await loadNative("many_signatures");
    const negative = createTensor("bool", [], Uint8Array.of(0));
    await expect(predict(model, { x, negative })).rejects.toMatchObject({
      code: "invalid_argument",
      message: typeof message === "string" ? message : expect.stringMatching(message),
    });
  });

  it("a value that the model itself refuses", async () => {
    const model = await loadNative("assertion");
    await expect(predict(model, { x: floats([2], 1, -1) })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^The model failed in node ".*Assert": .*every x must be positive/),
    });
  });

  it("bytes that are no image", async () => {
    const model = await loadNative("decode_jpeg");
    await expect(predict(model, { jpeg: texts("no", "image") })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("Unknown image file format"),
    });
  });
});

describe.skipIf(missing !== undefined)("the native engine refuses", () => {
  it("a library that is none", async () => {
    const path = `${tempFolder({ "libtensorflow.so.2": "no library" })}/libtensorflow.so.2`;
    await expectRefusal(openNative("counter", { tensorflow_lib: path }), /cannot be loaded on \w+ \w+: /);
  });

  it("a place that has no library", async () => {
    await expectRefusal(
      openNative("counter", { tensorflow_lib: tempFolder() }),
      /-o tensorflow_lib is ".*", where TensorFlow is not/,
    );
  });

  it.runIf(process.platform === "linux")("a library of something else", async () => {
    const { sharedObjects } = process.report.getReport() as { sharedObjects: string[] };
    const mathematics = sharedObjects.find((path) => path.includes("libm.so")) as string;
    await expectRefusal(
      openNative("counter", { tensorflow_lib: mathematics }),
      /lacks functions that are needed: TF_Version, .* and \d+ more/,
    );
  });

  it("a custom op library that is none, or not there", async () => {
    const folder = tempFolder();
    writeFileSync(`${folder}/op.so`, "no library");
    await expectRefusal(
      openNative("counter", { custom_op_paths: `${folder}/op.so` }),
      /"op.so" does not load into TensorFlow [\d.]+: /,
    );
    await expectRefusal(
      openNative("counter", { custom_op_paths: `${folder}/none.so` }),
      /none.so", which does not exist/,
    );
    await expectRefusal(openNative("counter", { custom_op_paths: tempFolder() }), /which has no libraries/);
  });
});

function expectRefusal(load: Promise<unknown>, message: RegExp): Promise<void> {
  return expect(load).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringMatching(message),
  });
}
