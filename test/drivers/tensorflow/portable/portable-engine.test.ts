import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as tf from "@tensorflow/tfjs-core";
import { describe, expect, it } from "vitest";
import { createSilentLogger, type Logger } from "../../../../src/observability/logger.ts";
import { DEFAULT_SIGNATURE } from "../../../../src/tensor/signature/signature.ts";
import { createTensor } from "../../../../src/tensor/tensor.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { predict } from "../../predict.ts";
import { floats, texts } from "../native/open-native.ts";
import { tensorflowModel } from "../tensorflow-cases.ts";
import { constant, editSavedModel, type NodeJson, placeholder, tensorOf, type, writeGraph } from "./graph-writer.ts";
import { loadPortable } from "./open-portable.ts";

/** A copy of a model that a test may damage. */
function copyOf(name: string): string {
  const folder = tempFolder();
  cpSync(tensorflowModel(name), folder, { recursive: true });
  return folder;
}

/** Those of the model `tensorflow_1`. */
const TAGS = { tags: "serve,cpu" };

/** The model `tensorflow_1` whose initialisation also assigns the node `value` to its bias, which is all ones. */
function withAssignedBias(...nodes: NodeJson[]): string {
  const folder = copyOf("tensorflow_1");
  editSavedModel(join(folder, "saved_model.pb"), ({ graphDef: { node: all } }) => {
    const assign = {
      name: "assign",
      op: "AssignVariableOp",
      input: ["bias", "value"],
      attr: { dtype: type("float32") },
    };
    all.push(...nodes, assign);
    const main = all.findIndex(({ name }) => name === "init_all_tables_1");
    all[main] = { ...(all[main] as NodeJson), input: [...(all[main]?.input ?? []), "^assign"] };
  });
  return folder;
}

/** A logger that keeps its warnings. */
function createWarningLogger(): { readonly log: Logger; readonly warnings: unknown[] } {
  const warnings: unknown[] = [];
  const warn = (message: string, fields?: unknown) => void warnings.push([message, fields]);
  return { log: { ...createSilentLogger(), warn }, warnings };
}

describe("the portable engine", () => {
  it("serves the signatures that it can compute, and says which it cannot", async () => {
    const { log, warnings } = createWarningLogger();
    const model = await loadPortable("many_signatures", {}, log);
    expect(Object.keys(model.signatures).sort()).toEqual(["constant", "serving_default"]);
    expect(warnings).toEqual([
      ["a signature is not served", { signature: "integers", why: [expect.stringContaining("1099511627776")] }],
    ]);
  });

  it("says when numbers are computed with another precision", async () => {
    const { log, warnings } = createWarningLogger();
    await loadPortable("dtype_float64", {}, log);
    expect(warnings).toEqual([["the model's numbers are computed in float32", { types: ["DT_DOUBLE"] }]]);
  });

  it("assigns what the initialisation does, as exports of TensorFlow 1 may do for all variables", async () => {
    const x = floats([1, 2], 0, 0);
    const restored = await loadPortable("tensorflow_1", TAGS);
    expect((await predict(restored, { x })).y).toEqual(floats([1, 3], 1, 1, 1));
    const assigned = await loadPortable(
      withAssignedBias(constant("value", tensorOf("float32", [3], [10, 20, 30]))),
      TAGS,
    );
    expect((await predict(assigned, { x })).y).toEqual(floats([1, 3], 10, 20, 30));
  });

  it("refuses to assign what is not of constants", async () => {
    const shape = constant("shape", tensorOf("int32", [1], [3]));
    const attr = { dtype: type("float32"), T: type("int32") };
    const noise = { name: "value", op: "RandomUniform", input: ["shape"], attr };
    const loading = loadPortable(withAssignedBias(shape, noise), TAGS);
    await expect(loading).rejects.toThrow("RandomUniform while the model is initialised");
  });

  it("gives only the outputs that are wanted", async () => {
    const model = await loadPortable("dtype_float64");
    const x = createTensor("float64", [1], Float64Array.of(3));
    expect(Object.keys(await predict(model, { x }, { outputs: ["third"] }))).toEqual(["third"]);
  });

  it("uses the default of an input that a request leaves out", async () => {
    const model = await loadPortable("defaults");
    expect((await predict(model, { x: floats([1], 2) })).y).toEqual(floats([1], 5));
  });

  it("writes all digits of large numbers as text", async () => {
    const model = await loadPortable("string_numbers");
    const x = floats([4], 1e21, -3.4e38, 0.0625, Infinity);
    const { fixed } = await predict(model, { s: texts("1"), x, i: createTensor("int32", [1], Int32Array.of(1)) });
    expect(fixed).toEqual(
      texts("1000000020040877342720.000", "-339999995214436424907732413799364296704.000", "0.062", "inf"),
    );
  });

  it("takes inputs in memory that threads share", async () => {
    const shared = new Float32Array(new SharedArrayBuffer(8));
    shared.set([4, 9]);
    const model = await loadPortable("assertion");
    expect((await predict(model, { x: createTensor("float32", [2], shared) })).y).toEqual(floats([2], 2, 3));
  });

  it("fails with the message of a failed assertion", async () => {
    const model = await loadPortable("assertion");
    await expect(predict(model, { x: floats([2], 4, -9) })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/assert/i),
    });
  });

  it("ends a loop at the request's deadline, and serves the next request", async () => {
    const model = await loadPortable("endless");
    await expect(predict(model, { x: floats([], 1) }, { deadlineMs: 50 })).rejects.toMatchObject({
      code: "deadline_exceeded",
    });
    expect((await predict(model, { x: floats([], 2e9) }, { deadlineMs: 5000 })).x).toEqual(floats([], 2e9));
  });

  it.each(["control_flow", "keras_lstm", "keras_convolution", "table_of_asset", "mutable_table"])(
    "frees what %s leaves behind, after each run and when it is closed",
    async (name) => {
      const before = tf.memory().numTensors;
      const model = await loadPortable(name);
      const loaded = tf.memory().numTensors;
      const inputs = Object.fromEntries(
        (model.signatures[DEFAULT_SIGNATURE]?.inputs ?? []).map((spec) => {
          const shape = (spec.shape ?? []).map((size) => (size === -1 ? 2 : Number(size)));
          const count = shape.reduce((product, size) => product * size, 1);
          return [spec.name, tensorOf(spec.dtype, shape, new Array(count).fill(1))];
        }),
      );
      for (let run = 0; run < 3; run++) await predict(model, inputs);
      expect(tf.memory().numTensors).toBe(loaded);
      await model.close();
      expect(tf.memory().numTensors).toBe(before);
    },
  );

  it("passes NaN on through fused layers", async () => {
    const [x, weights] = [floats([1, 2], Number.NaN, 1), floats([2, 1], 1, 1)];
    const attr = { T: type("float32") };
    const graph = writeGraph([
      placeholder("x", x),
      constant("weights", weights),
      { name: "product", op: "MatMul", input: ["x", "weights"], attr },
      { name: "y", op: "Relu6", input: ["product"], attr },
    ]);
    const model = await loadPortable(join(tempFolder({ "frozen.pb": graph }), "frozen.pb"));
    expect((await predict(model, { x })).y).toEqual(floats([1, 1], Number.NaN));
    expect((await predict(model, { x: floats([1, 2], 2, 9) })).y).toEqual(floats([1, 1], 6));
  });

  it("lets hooks run any part of the graph", async () => {
    const model = await loadPortable("frozen_graph");
    const { graph, sess } = model.hookArgs as {
      graph: { operations(): Promise<{ name: string; type: string }[]> };
      sess: { run(fetches: string | string[], feeds?: object): Promise<unknown> };
    };
    const constants = (await graph.operations()).filter((operation) => operation.type === "Const");
    expect(constants.length).toBeGreaterThan(0);
    expect(await sess.run((constants[0] as { name: string }).name)).toMatchObject({ dtype: expect.any(String) });
    await expect(sess.run("nowhere")).rejects.toMatchObject({ code: "invalid_argument" });
  });
});

describe("the portable engine refuses a SavedModel", () => {
  it("whose variables are missing", async () => {
    const folder = copyOf("keras_dense");
    rmSync(`${folder}/variables`, { recursive: true });
    await expect(loadPortable(folder)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining("variables are missing"),
    });
  });

  it("whose data file is cut short", async () => {
    const folder = copyOf("keras_dense");
    truncateSync(`${folder}/variables/variables.data-00000-of-00001`, 40);
    await expect(loadPortable(folder)).rejects.toThrow("cut short");
  });

  it("whose data file has one wrong bit", async () => {
    const folder = copyOf("keras_dense");
    const file = `${folder}/variables/variables.data-00000-of-00001`;
    const bytes = readFileSync(file).map((byte) => byte ^ 1);
    writeFileSync(file, bytes);
    await expect(loadPortable(folder)).rejects.toThrow("checksum");
  });

  it("whose index is none", async () => {
    const folder = copyOf("keras_dense");
    writeFileSync(`${folder}/variables/variables.index`, "no index at all, but long enough to be read as one");
    await expect(loadPortable(folder)).rejects.toThrow("not a checkpoint's index");
  });

  it("whose vocabulary is missing", async () => {
    const folder = copyOf("table_of_asset");
    rmSync(`${folder}/assets`, { recursive: true });
    await expect(loadPortable(folder)).rejects.toThrow("asset");
  });

  it("whose vocabulary lies outside of its assets", async () => {
    const folder = copyOf("table_of_asset");
    editSavedModel(`${folder}/saved_model.pb`, ({ assetFileDef: [asset] }) => {
      asset.filename = "../../outside.txt";
    });
    await expect(loadPortable(folder)).rejects.toMatchObject({
      code: "failed_precondition",
      message: 'The model\'s asset "../../outside.txt" lies outside of its folder assets.',
    });
  });

  it("with an unknown operation, naming it", async () => {
    await expect(loadPortable("unknown_operation")).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/is not known.*kserving runtimes install tensorflow/),
    });
  });

  it("with libraries of custom ops", async () => {
    await expect(loadPortable("keras_dense", { custom_op_paths: "ops.so" })).rejects.toThrow("native engine");
  });
});

describe("the portable engine refuses an input", () => {
  it("with an integer that 32 bits do not hold, naming it", async () => {
    const model = await loadPortable("dtype_int64");
    const x = createTensor("int64", [1], BigInt64Array.of(2n ** 40n));
    await expect(predict(model, { x })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining('Input "x" has 1099511627776'),
    });
  });

  it("that makes a result which 32 bits do not hold", async () => {
    const model = await loadPortable("dtype_int64");
    const x = createTensor("int64", [1], BigInt64Array.of(2n ** 31n - 1n));
    await expect(predict(model, { x })).rejects.toMatchObject({ code: "out_of_range" });
  });

  it("of a shape that an operation does not take, naming the operation", async () => {
    const model = await loadPortable("matrices");
    const { inputs = [] } = model.signatures[DEFAULT_SIGNATURE] ?? {};
    const shaped = Object.fromEntries(
      inputs.map(({ name }, index) => [name, floats([1, index + 1], ...new Array<number>(index + 1).fill(1))]),
    );
    await expect(predict(model, shaped)).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^\w+ ".+": /),
    });
  });
});

describe("the portable engine, with a frozen graph,", () => {
  it("serves its placeholders and what nothing else takes", async () => {
    const x = floats([2], 1, 2);
    const graph = writeGraph([
      placeholder("x", x),
      constant("two", floats([], 2)),
      { name: "y", op: "Mul", input: ["x", "two"], attr: { T: type("float32") } },
    ]);
    const model = await loadPortable(join(tempFolder({ "frozen.pb": graph }), "frozen.pb"));
    expect(model.signatures[DEFAULT_SIGNATURE]).toMatchObject({
      inputs: [{ name: "x", dtype: "float32", shape: [2] }],
      outputs: [{ name: "y", dtype: "float32" }],
    });
    expect((await predict(model, { x })).y).toEqual(floats([2], 2, 4));
  });

  it("refuses a loop as TensorFlow 1 writes it", async () => {
    const attr = { T: type("float32") };
    const graph = writeGraph([
      placeholder("x", floats([], 1)),
      { name: "merge", op: "Merge", input: ["x", "next"], attr: { ...attr, N: { i: "2" } } },
      { name: "next", op: "NextIteration", input: ["merge"], attr },
      { name: "y", op: "Neg", input: ["merge"], attr },
    ]);
    const path = join(tempFolder({ "frozen.pb": graph }), "frozen.pb");
    await expect(loadPortable(path)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining("loop of TensorFlow 1"),
    });
  });

  it.each([
    ["dct_method", { s: Buffer.from("INTEGER_ACCURATE").toString("base64") }],
    ["ratio", { i: "2" }],
    ["fancy_upscaling", { b: false }],
    ["try_recover_truncated", { b: true }],
  ])("refuses to decode JPEGs with another %s than the default", async (name, value) => {
    const graph = writeGraph([
      placeholder("x", texts("a")),
      { name: "y", op: "DecodeJpeg", input: ["x"], attr: { [name]: value } },
    ]);
    const loading = loadPortable(join(tempFolder({ "frozen.pb": graph }), "frozen.pb"));
    await expect(loading).rejects.toThrow(new RegExp(`DecodeJpeg with(out)? ${name}`));
  });

  it.each(["GIF89a", "not an image", ""])("refuses %j where an image is expected, naming the node", async (text) => {
    const graph = writeGraph([
      placeholder("x", createTensor("bytes", [], [new Uint8Array()])),
      { name: "y", op: "DecodeImage", input: ["x"] },
    ]);
    const model = await loadPortable(join(tempFolder({ "frozen.pb": graph }), "frozen.pb"));
    const x = createTensor("bytes", [], [new Uint8Array(Buffer.from(text))]);
    await expect(predict(model, { x })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining('DecodeImage "y": expected the bytes of a JPEG or PNG'),
    });
  });

  it("names a tensor that an option asks for and the graph lacks", async () => {
    const graph = writeGraph([placeholder("x", texts("a"))]);
    const path = join(tempFolder({ "frozen.pb": graph }), "frozen.pb");
    await expect(loadPortable(path, { outputs: "z" })).rejects.toThrow('no tensor "z"');
  });
});
