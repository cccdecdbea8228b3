import { once } from "node:events";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { encodeJson, encodeKserve, encodeRequest } from "../../../src/client/remote/encode-requests.ts";
import { encodeInferRequest } from "../../../src/client/remote/infer-message.ts";
import { createRemoteService, type RemoteServiceOptions } from "../../../src/client/remote/remote-service.ts";
import { ServingError } from "../../../src/errors.ts";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import { toAbortSignal } from "../../../src/platform/async/cancel-source.ts";
import { codecs } from "../../../src/platform/codec-host/codec-pool.ts";
import { MemoryBudget } from "../../../src/platform/limits/memory/memory-budget.ts";
import { decodePredictJson } from "../../../src/protocols/kibernetika/grpc-codec.ts";
import { encodePredictRequest } from "../../../src/protocols/tensorflow-serving/grpc-codec.ts";
import type { SingleRequest } from "../../../src/serving/infer-once.ts";
import type { InferenceService, InferResponse } from "../../../src/serving/inference-service.ts";
import { DTYPES } from "../../../src/tensor/dtype.ts";
import { createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";
import { comparable } from "../../grpc/plain-tensor.ts";
import { Random } from "../../grpc/random.ts";
import { echo, type Script, type ScriptedRequest, ScriptedService, serve } from "../../grpc/scripted-service.ts";
import { startNullServer } from "../../grpc/start-null-server.ts";
import { startServer } from "../../helpers/start-server.ts";

const one = createTensors([["x", createTensor("float32", [1], Float32Array.of(1))]]);

function request(changes: Partial<ScriptedRequest> = {}): SingleRequest {
  const { model = "", version, label, signature = "", outputs, inputs = { kind: "tensors", tensors: one } } = changes;
  const { metadata = {}, deadline, memory, signal = new AbortController().signal } = changes;
  const call = { id: "1", metadata, limits: { deadline }, signal, memory };
  return { ref: { model, version, label }, signature, inputs, outputs, call };
}

function connect(address: string, options: RemoteServiceOptions = {}) {
  const remote = createRemoteService(address, options);
  onTestFinished(() => remote.close());
  return remote;
}

async function connectTo(script: Script, options: RemoteServiceOptions = {}) {
  const service = new ScriptedService(script);
  const server = await serve(service);
  return { service, server, remote: connect(server.address, options) };
}

/** Resolves when a service's readiness is the wanted one. */
function readiness(service: InferenceService, wanted: boolean): Promise<void> {
  return new Promise((resolve) => {
    const stop = service.onReadiness((ready) => {
      if (ready === wanted) queueMicrotask(() => stop());
      if (ready === wanted) resolve();
    });
  });
}

describe("infer", () => {
  it("sends every dtype to a real server and gets the same back", async () => {
    const { grpcAddress } = await startNullServer();
    const random = new Random(3);
    const tensors = createTensors(DTYPES.map((dtype) => [dtype, random.tensor(dtype)]));
    const answer = await connect(grpcAddress).infer(request({ inputs: { kind: "tensors", tensors } }));
    expect(answer).toMatchObject({ model: "default", version: 1n, signature: "serving_default" });
    if (answer.outputs.kind !== "tensors") throw new Error("It answered JSON.");
    for (const dtype of DTYPES) expect(comparable(answer.outputs.tensors[dtype]!)).toEqual(comparable(tensors[dtype]!));
  });

  it("sends the requested outputs, and returns the version that ran", async () => {
    const { service, remote } = await connectTo((incoming) => ({ ...echo(incoming), metadata: { "x-answer": "yes" } }));
    const asked = { model: "m", version: 7n, signature: "s", outputs: ["x"], metadata: { "x-tag": "a", host: "h" } };
    const answer = await remote.infer(request({ ...asked, deadline: Date.now() + 60_000 }));
    expect(service.requests[0]).toMatchObject({ model: "m", version: 7n, signature: "s", outputs: ["x"] });
    expect(service.requests[0]?.metadata).toMatchObject({ "x-tag": "a" });
    expect(service.requests[0]?.metadata).not.toHaveProperty("host");
    expect(Math.abs(service.requests[0]!.deadline! - Date.now() - 60_000)).toBeLessThan(2000);
    expect(answer).toMatchObject({ model: "m", version: 7n, signature: "s", metadata: { "x-answer": "yes" } });
    expect(answer.metadata).toEqual({ "x-answer": "yes" });
  });

  it("sends a label, and a version as the original's plain integer where told to", async () => {
    const { service, remote } = await connectTo(echo, { versionEncoding: "int32" });
    await remote.infer(request({ label: "canary" }));
    expect(service.requests[0]).toMatchObject({ label: "canary" });
    expect((await remote.infer(request({ version: 5n }))).version).toBe(5n);
  });

  it("counts what is sent until it is answered, and then the answer", async () => {
    const budget = new MemoryBudget(1e9);
    const memory = budget.open();
    const seen: number[] = [];
    const { remote } = await connectTo((incoming) => {
      seen.push(memory.bytes);
      return echo(incoming);
    });
    const json = Buffer.from(`{"a": "${"x".repeat(10_000)}"}`);
    await remote.infer(request({ inputs: { kind: "json", json }, memory }));
    seen.push(memory.bytes);
    expect(seen[0]).toBeGreaterThanOrEqual(2 * json.length);
    expect(seen[1]).toBeGreaterThanOrEqual(json.length);
    expect(seen[1]).toBeLessThan(2 * json.length);
  });

  it("passes JSON through", async () => {
    const { remote } = await connectTo(echo);
    const json = Buffer.from('{"a": 1}');
    const { outputs } = await remote.infer(request({ inputs: { kind: "json", json } }));
    expect(outputs).toEqual({ kind: "json", json: new Uint8Array(json) });
  });

  it("fails with the other server's code and text", async () => {
    const { remote } = await connectTo(() => {
      throw new ServingError("resource_exhausted", "No room.");
    });
    await expect(remote.infer(request())).rejects.toThrow(
      expect.objectContaining({ name: "ServingError", code: "resource_exhausted", message: "No room." }),
    );
  });

  it("fails as unavailable where no server listens, with the address in the cause and not in the text", async () => {
    const server = await serve(new ScriptedService());
    await server.close(0);
    await expect(connect(server.address).infer(request())).rejects.toMatchObject({
      code: "unavailable",
      message: "The server behind this one cannot be reached, or its connection was lost; try again later.",
      cause: { details: expect.stringContaining(server.address) },
    });
  });

  it("fails as internal where the answer cannot be read", async () => {
    const tensors = createTensors([["x", createTensor("int64", [2000], new BigInt64Array(2000))]]);
    const { remote } = await connectTo((incoming) => ({ ...echo(incoming), outputs: { kind: "tensors", tensors } }), {
      maxMessageBytes: 2300,
    });
    await expect(remote.infer(request())).rejects.toMatchObject({
      code: "internal",
      message: expect.stringContaining("The remote server's answer cannot be read: tensor parsing error: x"),
    });
  });

  it("ends on both sides when the signal aborts, and does not begin after", async () => {
    const controller = new AbortController();
    const { service, remote } = await connectTo(async (incoming) => {
      queueMicrotask(() => controller.abort());
      await once(toAbortSignal(incoming.signal), "abort");
      throw incoming.signal.reason;
    });
    await expect(remote.infer(request({ signal: controller.signal }))).rejects.toMatchObject({ code: "cancelled" });
    await once(toAbortSignal(service.requests[0]!.signal), "abort").catch(() => undefined);
    await expect(remote.infer(request({ signal: controller.signal }))).rejects.toMatchObject({ code: "cancelled" });
    expect(service.requests).toHaveLength(1);
  });

  it("ends at the deadline", async () => {
    const { remote } = await connectTo(() => new Promise(() => {}));
    await expect(remote.infer(request({ deadline: Date.now() + 50 }))).rejects.toMatchObject({
      code: "deadline_exceeded",
    });
  });
});

it("describes what was asked for, without signatures", () => {
  const remote = connect("127.0.0.1:1");
  expect(remote.acquire({ model: "m", version: 2n }).description).toEqual({
    model: "m",
    version: 2n,
    drivers: [],
    signatures: {},
  });
});

it("is ready while it is connected", async () => {
  const service = new ScriptedService();
  const server = await serve(service);
  const remote = connect(server.address);
  await readiness(remote, true);
  expect(remote.isReady()).toBe(true);
  await server.close(0);
  await readiness(remote, false);
  expect(remote.isReady()).toBe(false);
  await serve(service, { port: server.port });
  await readiness(remote, true);
});

it("notifies its listeners that it is closed", async () => {
  const server = await serve(new ScriptedService());
  const remote = createRemoteService(server.address, {});
  await readiness(remote, true);
  const gone = readiness(remote, false);
  await remote.close();
  await gone;
});

const { signal } = new AbortController();

function requestWith(tensor: Tensor) {
  const spec = { model: "m", signature: "", version: 7n, versionEncoding: "int64" } as const;
  return { spec, inputs: createTensors([["x", tensor]]), outputFilter: ["y"] };
}

/** A call; with `isWireOnly` its tensors are needed by no hook. */
function callWith({ isWireOnly }: { isWireOnly: boolean }) {
  const memory = new MemoryBudget(100e6).open();
  memory.isWireOnly = isWireOnly;
  return { signal, memory };
}

const manyTexts = (length = 10_000) => Array.from({ length }, (_, index) => Buffer.from(`text ${index}`));

describe("a codec thread reads", () => {
  it.each([
    ["many texts", "bytes" as const, manyTexts(40_000), true],
    ["and not numbers, which are viewed", "float32" as const, new Float32Array(100_000).fill(7), false],
  ])("answers, and parts of them: %s", async (_, dtype, data, isLong) => {
    const read = vi.spyOn(codecs, "run");
    onTestFinished(() => read.mockRestore());
    const x = createTensor(dtype, [data.length], data as never);
    const hooks: Hooks = {
      async *process(inputs) {
        yield { y: inputs.x! };
      },
    };
    const { grpcAddress } = await startServer({ stages: [{ driver: "null" }], hooks });
    const remote = connect(grpcAddress);
    const values: Tensor[] = [];
    const write = async ({ outputs }: InferResponse) => {
      if (outputs.kind === "tensors") values.push(outputs.tensors.y!);
    };
    const asked = request({ inputs: { kind: "tensors", tensors: createTensors([["x", x]]) } });
    const call = { ...asked.call, parameters: { greedy: true } };
    expect(await remote.infer({ ...asked, parts: { write } })).toMatchObject({ parts: 1 });
    await write(await remote.infer({ ...asked, call }));
    // In a hundredth of the time of toEqual.
    expect(values.map((value) => isDeepStrictEqual(comparable(value), comparable(x)))).toEqual([true, true]);
    const jobs = read.mock.calls.map(([job]) => job.name);
    for (const name of ["decodeStreamResponseJob", "decodeInferResponseJob"]) expect(jobs.includes(name)).toBe(isLong);
  });
});

describe("a codec thread writes", () => {
  it("many texts", async () => {
    const request = requestWith(createTensor("bytes", [10_000], manyTexts()));
    const written = encodeRequest(request, callWith({ isWireOnly: false }));
    expect(written).toBeInstanceOf(Promise);
    expect(await written).toEqual(encodePredictRequest(request, "content"));
  });

  it("many numbers, whose memory it is transferred", async () => {
    const numbers = Float32Array.from({ length: 3_000_000 }, (_, index) => index);
    const request = requestWith(createTensor("float32", [numbers.length], numbers));
    const expected = encodePredictRequest(request, "content");
    const call = callWith({ isWireOnly: true });
    const written = await encodeRequest(request, call);
    expect(numbers.byteLength).toBe(0);
    expect(written.equals(expected)).toBe(true);
    expect(call.memory.bytes).toBe(0);
  });

  it("many texts of a request that may have to be sent in another form, and does not take them", async () => {
    const texts = createTensor("bytes", [10_000], manyTexts());
    const request = { model: "m", inputs: createTensors([["x", texts]]) };
    const written = encodeKserve(request, callWith({ isWireOnly: true }));
    expect(written).toBeInstanceOf(Promise);
    expect(await written).toEqual(encodeInferRequest(request));
  });

  it("a long text of JSON, likewise", async () => {
    const json = new Uint8Array(9_000_000).fill(0x61);
    const written = await encodeJson(json, callWith({ isWireOnly: true }));
    expect(json.byteLength).toBe(0);
    expect(Buffer.from(decodePredictJson(written)).equals(Buffer.alloc(9_000_000, "a"))).toBe(true);
  });
});

it("writes in this thread what hooks may have kept, and what takes no time", () => {
  const many = createTensor("float32", [3_000_000], new Float32Array(3_000_000));
  expect(encodeRequest(requestWith(many), callWith({ isWireOnly: false }))).toBeInstanceOf(Buffer);
  const few = createTensor("float32", [3], new Float32Array(3));
  expect(encodeRequest(requestWith(few), callWith({ isWireOnly: true }))).toBeInstanceOf(Buffer);
  expect(encodeJson(Buffer.from("{}"), callWith({ isWireOnly: true }))).toBeInstanceOf(Buffer);
  expect([few.data.byteLength, many.data.byteLength]).toEqual([12, 12_000_000]);
});
