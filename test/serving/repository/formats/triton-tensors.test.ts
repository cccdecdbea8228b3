import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { RepositorySource } from "../../../../src/server/repository-source.ts";
import { openServer } from "../../../../src/server/server.ts";
import { withDefaults } from "../../../../src/server/server-options.ts";
import { listModels } from "../../../../src/serving/repository/folders/list-models.ts";
import { createEventLog } from "../../../helpers/event-log.ts";
import { connectKserve } from "../../../helpers/kserve-grpc.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";

const HALF = readFileSync("test/fixtures/models/half-plus-two.onnx");
const ADD = "test/fixtures/models/add-two-inputs.onnx";
const tensorOf = (name: string, rows: number) => ({ name, datatype: "FP32", shape: [rows], data: Array(rows).fill(1) });
const x = (rest: string) => `input { name: "x" data_type: TYPE_FP32 ${rest} }`;
const y = (rest: string) => `output { name: "y" data_type: TYPE_FP32 ${rest} }`;

/** A server of one model, `half`, with this config.pbtxt. */
async function serve(config: string, files: Readonly<Record<string, string | Uint8Array>> = {}) {
  const folder = tempFolder({ "half/config.pbtxt": config, "half/1/model.onnx": HALF, ...files });
  const { log } = createEventLog();
  const source = new RepositorySource({ folders: [folder] }, { pollMs: 0, log });
  const server = await openServer(withDefaults({ http: {}, loadRetries: 0, log }), source);
  onTestFinished(() => server.close());
  const get = async (rest = "", body?: object) => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const answer = await fetch(`${server.httpUrl}/v2/models/half${rest}`, init);
    return (await answer.json()) as { error?: string; outputs?: readonly { shape: unknown; data: unknown }[] };
  };
  const infer = async (shape: readonly number[], data: readonly number[], parameters = {}) => {
    const inputs = [{ name: "x", datatype: "FP32", shape, data }];
    const { outputs, error } = await get("/infer", { inputs, outputs: [{ name: "y", parameters }] });
    return error ?? [outputs?.[0]?.shape, outputs?.[0]?.data];
  };
  return { folder, server, get, infer };
}

/** The reason why a model with this config.pbtxt is refused. */
async function refusalOf(config: string) {
  const { models } = await listModels(tempFolder({ "half/config.pbtxt": config, "half/1/model.onnx": HALF }));
  return models[0]?.refusal;
}

describe("label_filename", () => {
  const config = x("dims: -1") + y('dims: -1 label_filename: "names.txt"');

  test("names the classes of an output, and counts again when its file changes", async () => {
    const { folder, server, infer } = await serve(config, { "half/names.txt": "cat\r\n\r\ndog\n" });
    const classes = () => infer([4], [2, 4, 6, 0], { classification: 4 });
    expect(await classes()).toEqual([[4], ["5.000000:2:dog", "4.000000:1", "3.000000:0:cat", "2.000000:3"]]);
    writeFileSync(join(folder, "half/names.txt"), "lion\nbird");
    await server.service.rescan();
    await expect
      .poll(classes, { timeout: 20_000 })
      .toEqual([[4], ["5.000000:2", "4.000000:1:bird", "3.000000:0:lion", "2.000000:3"]]);
  });

  test("that is not there, or leads out of the folder, has its model refused", async () => {
    await expect(serve(config)).rejects.toThrow(/The file of labels ".*half\/names\.txt" does not exist/);
    const outside = 'The label_filename "../secret" does not lie in the model\'s folder.';
    expect(await refusalOf(y('dims: -1 label_filename: "../secret"'))).toContain(outside.slice(0, -1));
  });
});

describe("reshape", () => {
  test("lets clients send and get the dims, and the model the shape that it has", async () => {
    const { get, infer } = await serve(
      x("dims: [ 1, -1 ] reshape { shape: [ -1 ] }") + y("dims: [ -1, 1, 1 ] reshape { shape: [ -1 ] }"),
    );
    const tensor = (name: string, shape: readonly number[]) => ({ name, datatype: "FP32", shape });
    expect(await get()).toMatchObject({
      inputs: [tensor("x", [1, -1])],
      outputs: [tensor("y", [-1, 1, 1])],
    });
    expect(await infer([1, 3], [2, 4, 6])).toEqual([
      [3, 1, 1],
      [3, 4, 5],
    ]);
    expect(await infer([3], [2, 4, 6])).toContain("x");
  });

  test.each([
    ["dims: [ 2 ] reshape { shape: [ 3 ] }", '"x" has dims [2] and a reshape to [3]'],
    ["dims: [ -1, 2 ] reshape { shape: [ 2, -1 ] }", '"x" has dims [-1, 2] and a reshape to [2, -1]'],
    ["dims: [ -1 ] reshape { shape: [ -1, -1 ] }", "expected as many elements, and as many sizes of -1"],
  ])("to another number of elements has its model refused: %s", async (dims, message) => {
    expect(await refusalOf(x(dims))).toContain(message);
  });
});

describe("format", () => {
  test.each([
    ["max_batch_size: 4", "dims: [ 3, 8, 8 ] format: FORMAT_NCHW", { layout: "NCHW", max_request_rows: "4" }],
    ["", "dims: [ 8, 8, 3 ] format: FORMAT_NHWC reshape { shape: [ 1, 8, 8, 3 ] }", { layout: "NHWC" }],
    ["", "dims: [ 3, 8, 8 ] format: FORMAT_NCHW", {}],
    ["", "dims: [ 1, 3, 8, 8 ] format: FORMAT_NONE", {}],
  ])("is the layout of encoded images where the model takes such: %s %s", async (batch, rest, options) => {
    const config = `${batch} ${x(rest)}`;
    const { models, warnings } = await listModels(tempFolder({ "m/config.pbtxt": config, "m/1/m.onnx": "" }));
    expect([models[0]?.options, warnings]).toEqual([options, []]);
  });

  test("is told to clients that make the values of images themselves", async () => {
    const { get, infer } = await serve(
      x("dims: [ 1, -1, 1 ] format: FORMAT_NCHW reshape { shape: [ -1 ] }") + y("dims: -1"),
    );
    expect(await get("/config")).toMatchObject({ input: [{ dims: [1, -1, 1], format: "FORMAT_NCHW" }] });
    expect(await infer([1, 2, 1], [2, 4])).toEqual([[2], [3, 4]]);
  });
});

test("max_batch_size is told to clients, with dims that leave the batch out, though no requests are put together", async () => {
  const { folder, server, get } = await serve(`max_batch_size: 8 ${x("dims: [ ]")} ${y("dims: [ ]")}`);
  const config = { max_batch_size: 8, input: [{ name: "x", dims: [] }], output: [{ name: "y", dims: [] }] };
  expect(await get("/config")).toMatchObject(config);
  expect(await get("/config")).not.toHaveProperty("dynamic_batching");
  expect(await get()).toMatchObject({ inputs: [{ name: "x", shape: [-1] }] });
  writeFileSync(join(folder, "half/config.pbtxt"), `max_batch_size: 16 dynamic_batching { } ${x("dims: [ ]")}`);
  await server.service.rescan();
  const batched = { max_batch_size: 16, dynamic_batching: {} };
  await expect.poll(() => get("/config"), { timeout: 20_000 }).toMatchObject(batched);
});

describe("max_batch_size refuses, in Triton's words, a request", () => {
  const batched = `max_batch_size: 2 ${x("dims: [ ]")} ${y("dims: [ ]")}`;
  const tooMany = "[request id: <id_unknown>] inference request batch-size must be <= 2 for 'half'";

  test.each(["", "dynamic_batching { }"])("of more rows, on every wire: %s", async (more) => {
    const { server, infer } = await serve(`${batched} ${more}`);
    expect(await infer([2], [2, 4])).toEqual([[2], [3, 4]]);
    expect(await infer([3], [2, 4, 6])).toBe(tooMany);
    const body = JSON.stringify({ instances: [2, 4, 6] });
    const answer = await fetch(`${server.httpUrl}/v1/models/half:predict`, { method: "POST", body });
    const error = "Task size 3 is larger than maximum input batch size 2";
    expect([answer.status, await answer.json()]).toEqual([400, { error }]);
  });

  test("without a first dimension", async () => {
    const { infer } = await serve(batched);
    const error = "[request id: <id_unknown>] input 'x' has no shape but model requires batch dimension for 'half'";
    expect(await infer([], [2])).toBe(error);
  });

  test("whose inputs have other first dimensions", async () => {
    const files = { "add/config.pbtxt": "max_batch_size: 2", "add/1/model.onnx": readFileSync(ADD) };
    const { server } = await serve("", files);
    const inputs = [1, 2].map((rows) => tensorOf(rows === 1 ? "a" : "b", rows));
    const init = { method: "POST", body: JSON.stringify({ id: "7", inputs }) };
    const answer = await fetch(`${server.httpUrl}/v2/models/add/infer`, init);
    const error = "[request id: 7] input 'b' batch size does not match other inputs for 'add'";
    expect([answer.status, await answer.json()]).toMatchObject([400, { error }]);
  });
});

test("dims count where the model's sizes are open", async () => {
  const { get, infer } = await serve(x("dims: 3") + y("dims: 3"));
  expect(await get()).toMatchObject({ inputs: [{ shape: [3] }], outputs: [{ shape: [3] }] });
  expect(await infer([3], [2, 4, 6])).toEqual([[3], [3, 4, 5]]);
  expect(await infer([2], [2, 4])).toContain("unexpected shape for input 'x' for model 'half'. Expected [3], got [2].");
});

test("a GPU for instances is named, since the driver's own options choose the device", async () => {
  const config = "instance_group { kind: KIND_GPU }";
  const { warnings } = await listModels(tempFolder({ "m/config.pbtxt": config, "m/1/m.onnx": "" }));
  expect(warnings).toEqual([
    expect.stringMatching(/config\.pbtxt:1:24: "kind: KIND_GPU" changes nothing here: the driv/),
  ]);
});

describe("model_operations", () => {
  test("names libraries of custom operators in the model's folder", async () => {
    const config = `backend: "onnxruntime" ${x("dims: -1")}${y("dims: -1")} model_operations { op_library_filename: "libs/none.so" }`;
    await expect(serve(config)).rejects.toThrow(
      /^custom_op_paths names ".*\/half\/libs\/none\.so", which does not exist\.$/,
    );
  });
});

test("parameters are what clients read in the model's configuration, also those that change nothing here", async () => {
  const parameters = `parameters { key: "metadata" value: { string_value: "{'names': {0: 'cat'}}" } }
    parameters [{ key: "intra_op_thread_count" value: { string_value: "1" } }, { key: "none" value: {} }]`;
  const { get, server } = await serve(`backend: "onnxruntime" ${x("dims: -1")} ${y("dims: -1")} ${parameters}`);
  const expected = {
    metadata: { string_value: "{'names': {0: 'cat'}}" },
    intra_op_thread_count: { string_value: "1" },
    none: { string_value: "" },
  };
  expect(await get("/config")).toMatchObject({ parameters: expected });
  const call = connectKserve(server.grpcAddress);
  expect(await call("ModelConfig", { name: "half" })).toMatchObject({ config: { parameters: expected } });
});
