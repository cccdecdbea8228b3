import { type ClientDuplexStream, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Plain } from "../../grpc/oracle.ts";
import { startNullServer } from "../../grpc/start-null-server.ts";
import { KserveClient } from "./kserve-oracle.ts";

type Call = (request: Plain, done: (error: ServiceError | null, answer?: Plain) => void) => void;
type Stream = ClientDuplexStream<Plain, Plain>;

const half = Buffer.from(Float32Array.of(1, 2).buffer);
const input = { name: "x", datatype: "FP32", shape: [2] };
const request = { model_name: "default", id: "7", inputs: [input], raw_input_contents: [half] };

/** A client of a server with a model whose inputs are known, or with the null driver. */
async function connect(stages = [{ driver: "onnx", path: "test/fixtures/models/half-plus-two.onnx" }]) {
  const server = await startNullServer({ stages });
  const client = new KserveClient(server.grpcAddress, credentials.createInsecure());
  onTestFinished(() => client.close());
  const call = (name: string, message: Plain) =>
    new Promise<Plain>((resolve, reject) => {
      const method = (client[name] as Call).bind(client);
      method(message, (error, answer) => (error === null ? resolve(answer as Plain) : reject(error)));
    });
  const stream = (metadata = new Metadata()): Stream =>
    (client.ModelStreamInfer as (metadata: Metadata) => Stream).call(client, metadata);
  return { call, stream };
}

describe("the KServe V2 service", () => {
  it("says that it lives, is ready, and what it is", async () => {
    const { call } = await connect();
    expect(await call("ServerLive", {})).toEqual({ live: true });
    expect(await call("ServerReady", {})).toEqual({ ready: true });
    expect(await call("ModelReady", { name: "default", version: "1" })).toEqual({ ready: true });
    expect(await call("ServerMetadata", {})).toMatchObject({
      name: "kserving",
      extensions: expect.arrayContaining(["binary_tensor_data"]),
    });
  });

  it("describes its model", async () => {
    const { call } = await connect();
    const tensor = { datatype: "FP32", shape: ["-1"], parameters: {} };
    expect(await call("ModelMetadata", { name: "default" })).toEqual({
      name: "default",
      versions: ["1"],
      platform: "onnxruntime_onnx",
      inputs: [{ name: "x", ...tensor }],
      outputs: [{ name: "y", ...tensor }],
    });
    expect(await call("ModelConfig", { name: "default" })).toMatchObject({
      config: {
        name: "default",
        backend: "onnx",
        max_batch_size: 0,
        input: [{ name: "x", data_type: "TYPE_FP32", dims: ["-1"], optional: false }],
        output: [{ name: "y", data_type: "TYPE_FP32", dims: ["-1"] }],
      },
    });
    expect(await call("RepositoryIndex", { ready: true })).toEqual({
      models: [{ name: "default", version: "1", state: "READY", reason: "" }],
    });
  });

  it("infers, with the id and the version that ran", async () => {
    const { call } = await connect();
    expect(await call("ModelInfer", request)).toMatchObject({
      model_name: "default",
      model_version: "1",
      id: "7",
      outputs: [{ name: "y", datatype: "FP32", shape: ["2"], contents: null }],
      raw_output_contents: [Buffer.from(Float32Array.of(2.5, 3).buffer)],
    });
  });

  it.each([
    ["in both forms", {}, true, true],
    ["in typed fields when asked", { typed_outputs: { bool_param: true } }, true, false],
    ["in raw contents when asked", { typed_outputs: { bool_param: false } }, false, true],
  ])("answers typed values %s", async (_what, parameters, isTyped, isRaw) => {
    const { call } = await connect();
    const inputs = [{ ...input, contents: { fp32_contents: [1, 2] } }];
    const answer = await call("ModelInfer", { model_name: "default", parameters, inputs });
    expect(answer).toMatchObject({
      outputs: [{ name: "y", contents: isTyped ? { fp32_contents: [2.5, 3] } : null }],
      raw_output_contents: isRaw ? [Buffer.from(Float32Array.of(2.5, 3).buffer)] : [],
    });
  });

  it("gives an output's greatest values as classes", async () => {
    const { call } = await connect();
    const outputs = [{ name: "y", parameters: { classification: { int64_param: 1 } } }];
    const answer = await call("ModelInfer", { ...request, outputs });
    expect(answer.outputs).toMatchObject([{ name: "y", datatype: "BYTES", shape: ["1"] }]);
    expect(answer.raw_output_contents).toEqual([Buffer.concat([Buffer.of(10, 0, 0, 0), Buffer.from("3.000000:1")])]);
  });

  it.each<[string, string, Plain, string]>([
    [
      "a version that is no number",
      "INVALID_ARGUMENT",
      { model_version: "x" },
      "version should be an integral value > 0",
    ],
    [
      "an input of another name",
      "INVALID_ARGUMENT",
      { inputs: [{ ...input, name: "z" }] },
      "unexpected inference input 'z' for model 'default'",
    ],
    [
      "no input",
      "INVALID_ARGUMENT",
      { inputs: [], raw_input_contents: [] },
      "expected 1 inputs but got 0 inputs for model 'default'. Got input(s) [], but missing required input(s) ['x']. " +
        "Please provide all required input(s). The model takes 'x' FP32 [-1].",
    ],
    [
      "an input twice",
      "INVALID_ARGUMENT",
      { inputs: [input, input], raw_input_contents: [half, half] },
      "[request id: 7] input 'x' already exists in request for model 'default'",
    ],
    [
      "another datatype",
      "INVALID_ARGUMENT",
      { inputs: [{ ...input, datatype: "INT32" }] },
      "[request id: 7] inference input 'x' data-type is 'INT32', but model 'default' expects 'FP32'",
    ],
    [
      "another rank",
      "INVALID_ARGUMENT",
      { inputs: [{ ...input, shape: [1, 2] }] },
      "[request id: 7] unexpected shape for input 'x' for model 'default'. Expected [-1], got [1,2].",
    ],
    [
      "an output twice",
      "INVALID_ARGUMENT",
      { outputs: [{ name: "y" }, { name: "y" }] },
      "[request id: 7] output 'y' already exists in request",
    ],
    [
      "a reserved parameter",
      "INVALID_ARGUMENT",
      { parameters: { triton_x: { bool_param: true } } },
      "parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: triton_enable_empty_final_response",
    ],
    [
      "a priority that is no integer",
      "INVALID_ARGUMENT",
      { parameters: { priority: { string_param: "high" } } },
      "invalid value type for 'priority' parameter, expected int64_param or uint64_param.",
    ],
    [
      "a timeout that is no integer",
      "INVALID_ARGUMENT",
      { parameters: { timeout: { double_param: 1 } } },
      "invalid value type for 'timeout' parameter, expected int64_param.",
    ],
    [
      "a start of a sequence that is neither true nor false",
      "INVALID_ARGUMENT",
      { parameters: { sequence_start: { int64_param: 1 } } },
      "invalid value type for 'sequence_start' parameter, expected bool_param.",
    ],
  ])("refuses %s", async (_, code, change, text) => {
    const { call } = await connect();
    const failed = call("ModelInfer", { ...request, ...change });
    await expect(failed).rejects.toMatchObject({ message: expect.stringContaining(code) });
    await expect(failed).rejects.toMatchObject({ details: expect.stringContaining(text) });
  });

  it.each(["System", "Cuda"])("has no regions of shared memory, %s, unless it is asked to", async (kind) => {
    const { call } = await connect();
    expect(await call(`${kind}SharedMemoryStatus`, {})).toEqual({ regions: {} });
    const details = `Unable to find ${kind.toLowerCase()} shared memory region: 'r'`;
    const found = call(`${kind}SharedMemoryStatus`, { name: "r" });
    await expect(found).rejects.toMatchObject({ code: 5, details: expect.stringContaining(details) });
    for (const change of ["Register", "Unregister"]) {
      const changed = call(`${kind}SharedMemory${change}`, { name: "r", key: "/k", byte_size: 8 });
      await expect(changed).rejects.toMatchObject({
        code: 12,
        details: expect.stringContaining("Client shared memory is disabled."),
      });
    }
  });

  it.each([
    ["an unknown model", { name: "no" }],
    ["an unknown version", { name: "default", version: "2" }],
  ])("says that %s is not ready", async (_, ref) => {
    const { call } = await connect();
    expect(await call("ModelReady", ref)).toEqual({ ready: false });
    await expect(call("ModelReady", { ...ref, version: "x" })).rejects.toMatchObject({ code: 3 });
  });
});

describe("a stream of inference requests", () => {
  async function collect(stream: Stream): Promise<Plain[]> {
    const answers: Plain[] = [];
    for await (const answer of stream) answers.push(answer as Plain);
    return answers;
  }

  it("answers each by its id and goes on after one that failed", async () => {
    const { stream } = await connect();
    const call = stream();
    for (let id = 0; id < 100; id++) {
      const raw = Buffer.from(Float32Array.of(id, 0).buffer);
      call.write({ ...request, id: String(id), model_name: id === 50 ? "no" : "default", raw_input_contents: [raw] });
    }
    call.end();
    const answers = await collect(call);
    expect(answers).toHaveLength(100);
    for (const { error_message: error, infer_response: response } of answers as {
      error_message: string;
      infer_response: Plain;
    }[]) {
      const id = Number(response.id);
      if (id === 50) expect(error).toBe("Request for unknown model: 'no' is not found. This server has default.");
      else expect(response.raw_output_contents).toEqual([Buffer.from(Float32Array.of(id / 2 + 2, 2).buffer)]);
    }
  });

  it("goes on after requests that no model has had, also for a client that asks for statuses", async () => {
    const { stream } = await connect();
    const metadata = new Metadata();
    metadata.set("triton_grpc_error", "true");
    const call = stream(metadata);
    for (const change of [{ model_name: "no", id: "" }, { outputs: [{ name: "z" }] }, {}])
      call.write({ ...request, ...change });
    call.end();
    expect(await collect(call)).toMatchObject([
      {
        error_message: "Request for unknown model: 'no' is not found. This server has default.",
        infer_response: { id: "", model_name: "" },
      },
      { error_message: expect.stringContaining("unexpected inference output 'z'"), infer_response: { id: "7" } },
      { error_message: "", infer_response: { id: "7", model_name: "default" } },
    ]);
  });
});
