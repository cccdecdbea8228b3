import { renameSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { RequestLogs } from "../../../src/observability/request-log/request-logs.ts";
import { MemoryBudget } from "../../../src/platform/limits/memory/memory-budget.ts";
import { decodePredictRequest, decodePredictResponse } from "../../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { createServer } from "../../../src/server/server.ts";
import type { ServerOptions } from "../../../src/server/server-options.ts";
import type { InferResponse, Lease } from "../../../src/serving/inference-service.ts";
import { createTensor, createTensors } from "../../../src/tensor/tensor.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { connectService } from "../../protocols/tensorflow-serving/connect-service.ts";
import { logFiles, readLogs } from "./recorded-files.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";
const MODELS = { half: { path: HALF } };
const MAX_BYTES = 1e6;

/** Sends a body, and resolves with the status once the answer is read: a server waits for clients that read. */
async function post(url: string, body: string): Promise<number> {
  const response = await fetch(url, { method: "POST", body, headers: { "content-type": "application/json" } });
  await response.arrayBuffer();
  return response.status;
}

const rest = (url: string, values = "[2]", model = "half") =>
  post(`${url}/v1/models/${model}:predict`, `{"inputs": ${values}}`);

/** A server that records in a folder, what to do with it, and the logs that it has written once it is closed. */
async function record(
  options: ServerOptions,
  use: (server: { httpUrl: string; grpcAddress: string }) => Promise<unknown>,
) {
  const folder = tempFolder();
  const server = await createServer({ models: MODELS, http: {}, requestLog: { prefix: `${folder}/t` }, ...options });
  await use(server as never).finally(() => server.close());
  return { folder, files: logFiles(folder) };
}

describe("requests of every wire", () => {
  it("are recorded as tensors, with the model, the version and the time", async () => {
    const before = Date.now();
    const { files } = await record({ workers: 0 }, async ({ httpUrl: url }) => {
      await rest(url, "[2, 4]");
      await post(`${url}/v2/models/half/infer`, '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[3]}]}');
      await post(`${url}/v1/models/half/versions/1:predict`, '{"instances": [5]}');
    });
    expect(files).toEqual([expect.stringMatching(/\/t-half-\d{8}T\d{6}\.\d{3}Z\.tfrecord$/)]);
    const logs = await readLogs(...files);
    const said = logs.map(({ kind, request, response }) => {
      const { spec, inputs } = decodePredictRequest(request, MAX_BYTES);
      const { outputs, spec: answered } = decodePredictResponse(response as Uint8Array, MAX_BYTES);
      return [kind, spec.version, inputs.x?.data, outputs.y?.data, answered.model, answered.version];
    });
    expect(said).toEqual([
      ["predict_log", undefined, Float32Array.of(2, 4), Float32Array.of(3, 4), "half", 1n],
      ["predict_log", undefined, Float32Array.of(3), Float32Array.of(3.5), "half", 1n],
      ["predict_log", 1n, Float32Array.of(5), Float32Array.of(4.5), "half", 1n],
    ]);
    const times = logs.map(({ timeMs = 0 }) => timeMs);
    expect(times.toSorted((a, b) => a - b)).toEqual(times);
    expect(times[0]).toBeGreaterThanOrEqual(before - 1000);
  });

  it("are recorded as tensors where they are JSON", async () => {
    const { files } = await record({}, ({ httpUrl }) =>
      post(`${httpUrl}/serving-proxy`, '{"x": [1, 2]}').then((status) => expect(status).toBe(200)),
    );
    const [log] = await readLogs(...files);
    expect(decodePredictRequest(log!.request, MAX_BYTES).inputs.x).toMatchObject({ dtype: "float32", shape: [2] });
    expect(decodePredictResponse(log!.response!, MAX_BYTES).outputs.y?.data).toEqual(Float32Array.of(2.5, 3));
  });

  it("keep the form of Classify, Regress and MultiInference", async () => {
    const input = { example_list: { examples: [{ features: { feature: { x: { float_list: { value: [2] } } } } }] } };
    const spec = { name: "half" };
    const { files } = await record({}, async (server) => {
      const call = connectService(server as never, "PredictionService");
      await call("Regress", { model_spec: spec, input });
      await call("MultiInference", { tasks: [{ model_spec: spec, method_name: "tensorflow/serving/regress" }], input });
      await post(`${server.httpUrl}/v1/models/half:regress`, '{"examples": [{"x": 6.0}]}');
    });
    const logs = await readLogs(...files);
    expect(logs.map(({ kind }) => kind)).toEqual(["regress_log", "multi_inference_log", "regress_log"]);
    expect(logs.every(({ response }) => (response?.length ?? 0) > 0)).toBe(true);
  });

  it("are not recorded where they fail, are not sampled, or the model says so", async () => {
    const models = { half: { path: HALF }, off: { path: HALF, requestLog: { rate: 0 } } };
    const { files } = await record({ models }, async ({ httpUrl }) => {
      expect(await rest(httpUrl, '["a"]')).toBe(400);
      expect(await rest(httpUrl, "[1]", "off")).toBe(200);
    });
    expect(files).toEqual([]);
  });

  it("are recorded with the model that their inputs chose", async () => {
    const split = { one: 60, other: 40 };
    const models = {
      half: { driver: "null", split, sticky: { inputs: "all" as const } },
      one: { path: HALF },
      other: { path: HALF },
    };
    const values = Array.from({ length: 12 }, (_, index) => index);
    const answered: string[] = [];
    const { folder } = await record({ models }, async ({ httpUrl }) => {
      for (const value of values) {
        const inputs = [{ name: "x", datatype: "FP32", shape: [1], data: [value] }];
        const init = { method: "POST", body: JSON.stringify({ inputs }) };
        const answer = await (await fetch(`${httpUrl}/v2/models/half/infer`, init)).json();
        answered.push((answer as { model_name: string }).model_name);
        expect(await post(`${httpUrl}/v1/models/half:regress`, `{"examples": [{"x": ${value}.5}]}`)).toBe(200);
      }
    });
    const said = async (model: string) => {
      const logs = await readLogs(...logFiles(folder).filter((file) => file.includes(`/t-${model}-`)));
      const predicts = logs.filter(({ kind }) => kind === "predict_log");
      const specs = predicts.flatMap(({ request, response }) => [
        decodePredictRequest(request, MAX_BYTES).spec.model,
        decodePredictResponse(response as Uint8Array, MAX_BYTES).spec.model,
      ]);
      expect(specs.every((name) => name === model)).toBe(true);
      return [predicts.length, logs.length > predicts.length];
    };
    const count = (model: string) => answered.filter((name) => name === model).length;
    expect(await said("one")).toEqual([count("one"), true]);
    expect(await said("other")).toEqual([count("other"), true]);
  });

  it("that hooks of another model send are recorded, but for those of a warm-up", async () => {
    const folder = tempFolder({ "request.json": '{"instances": [{"x": 1.5}]}' });
    const server = await startServer({ models: MODELS, requestLog: { prefix: `${folder}/` } });
    const hooks: Hooks = { process: ({ x }, ctx) => ctx.models.get("half").predict({ x: x! }) };
    await server.load("outer", {
      driver: "null",
      hooks,
      warmup: join(folder, "request.json"),
      requestLog: { rate: 0 },
    });
    expect(await rest(server.httpUrl, '{"x": [4.5]}', "outer")).toBe(200);
    await server.close();
    const logs = await readLogs(...logFiles(folder));
    expect(logs.map(({ request }) => decodePredictRequest(request, MAX_BYTES).inputs.x?.data)).toEqual([
      Float32Array.of(4.5),
    ]);
  });

  it("that are large are recorded whole", async () => {
    const values = Array.from({ length: 40_000 }, (_, index) => index % 100);
    const { files } = await record({}, ({ httpUrl }) => rest(httpUrl, JSON.stringify(values)));
    const [log] = await readLogs(...files);
    const { inputs } = decodePredictRequest(log!.request, 2 * MAX_BYTES);
    const sum = (data: unknown) => (data as Float32Array).reduce((total, value) => total + value, 0);
    expect(sum(inputs.x?.data)).toBe(sum(values));
    const { outputs } = decodePredictResponse(log!.response!, 2 * MAX_BYTES);
    expect(sum(outputs.y?.data)).toBe(sum(values) / 2 + 2 * values.length);
  });
});

describe("an answer in parts", () => {
  const parted: Hooks = {
    inputs: [{ name: "x", dtype: "int32", shape: [1] }],
    async *process({ x }) {
      const count = Number(x?.data[0]);
      for (let number = 0; number < count; number++) yield { number: Int32Array.of(number) };
      if (count > 2) throw new Error("as asked");
    },
  };

  it("is recorded with all of its parts and their times, and one that fails is not", async () => {
    const models = { counting: { driver: "null", hooks: parted } };
    const { files } = await record({ models }, async ({ httpUrl }) => {
      for (const x of [2, 3, 0]) await post(`${httpUrl}/v2/models/counting/generate_stream`, `{"x": ${x}}`);
    });
    const logs = await readLogs(...files);
    const said = logs.map(({ kind, request, response, parts = [] }) => {
      const numbers = parts.map((part) => decodePredictResponse(part.response, MAX_BYTES).outputs.number?.data[0]);
      return [kind, decodePredictRequest(request, MAX_BYTES).inputs.x?.data[0], response, numbers];
    });
    expect(said).toEqual([
      ["predict_streamed_log", 2, undefined, [0, 1]],
      ["predict_streamed_log", 0, undefined, []],
    ]);
    const [first = 0, second = 0] = logs[0]?.parts?.map(({ afterMs }) => afterMs) ?? [];
    expect([first > 0, second >= first]).toEqual([true, true]);
  });

  it("is recorded as any other where one answer is wanted", async () => {
    const models = { counting: { driver: "null", hooks: parted } };
    const { files } = await record({ models }, ({ httpUrl }) =>
      post(`${httpUrl}/v2/models/counting/generate`, '{"x": 1}').then((status) => expect(status).toBe(200)),
    );
    expect((await readLogs(...files)).map(({ kind }) => kind)).toEqual(["predict_log"]);
  });

  it("leaves room for other records while it lasts, and is not recorded where it needs more than that", async () => {
    const folder = tempFolder();
    const logs = new RequestLogs({ prefix: `${folder}/`, rate: 1, maxBytes: 1e9, files: 3 }, createSilentLogger());
    const memory = new MemoryBudget(1e9);
    const outputs = {
      kind: "tensors",
      tensors: createTensors([["y", createTensor("uint8", [20e6], new Uint8Array(20e6))]]),
    } as const;
    const part = { model: "m", version: 1n, signature: "", metadata: {}, outputs } satisfies InferResponse;
    const inputs = { kind: "tensors", tensors: createTensors() } as const;
    const call = { id: "1", metadata: {}, signal: new AbortController().signal };
    const request = { signature: { name: "", spec: undefined }, inputs, call };
    const description = { model: "m", version: 1n, drivers: [], signatures: {}, decoupled: true };
    const leaseOf = (infer: Lease["infer"]) => ({ description, infer, release: () => {} }) as Partial<Lease> as Lease;
    const recorded = (lease: Lease) => logs.recorded(lease, { ref: { model: "m" }, options: {}, memory });
    const held: number[] = [];
    const streaming = leaseOf(async ({ parts }) => {
      for (let count = 0; count < 2; count++) {
        await parts?.write(part);
        held.push(memory.heldBytes);
      }
      await recorded(leaseOf(async () => part)).infer(request);
      return { ...part, parts: 2 };
    });
    await recorded(streaming).infer({ ...request, parts: { write: async () => {} } });
    expect([held[0] ?? 0, held[1]]).toEqual([expect.any(Number), 0]);
    expect(held[0]).toBeGreaterThan(20e6);
    await logs.close();
    const counts = logs.counts().map(({ outcome, count }) => [outcome, count]);
    expect(counts).toEqual([
      ["out_of_range", 1],
      ["ok", 1],
    ]);
    expect(memory.heldBytes).toBe(0);
  });
});

describe("the files", () => {
  /** Waits until a record is written, so that the next one does not go with it. */
  const written = (folder: string, count: number) =>
    expect.poll(async () => (await readLogs(...logFiles(folder))).length, { timeout: 10_000 }).toBe(count);

  it("may be moved away while they are written", async () => {
    const folder = tempFolder();
    const server = await startServer({ models: MODELS, requestLog: { prefix: `${folder}/` } });
    await rest(server.httpUrl);
    await written(folder, 1);
    renameSync(logFiles(folder)[0]!, join(folder, "moved"));
    await rest(server.httpUrl);
    await written(folder, 1);
    expect(await readLogs(join(folder, "moved"))).toHaveLength(1);
  });

  it("that cannot be written are reported with the remedy, and requests are answered", async () => {
    const { log, events, find } = createEventLog();
    const folder = tempFolder({ file: "" });
    const server = await startServer({ models: MODELS, requestLog: { prefix: `${folder}/file/t` }, log });
    expect(await rest(server.httpUrl)).toBe(200);
    const problem = `${folder}/file/t-half- cannot be written: a part of its path is not a folder. Choose another --request-log. It is tried again every 10 seconds.`;
    await find({ level: "warn", model: "half", msg: `1 request was not recorded: ${problem}` });
    expect(await rest(server.httpUrl)).toBe(200);
    await server.close();
    // Told at the start, at the first request, and at the end for what came since.
    const told = events.filter(({ level }) => level === "warn").map(({ msg, count }) => [count, msg]);
    expect(told).toEqual([
      [undefined, `requests will not be recorded: ${problem.replace("half", "MODEL")}`],
      [1, `1 request was not recorded: ${problem}`],
      [1, `1 request was not recorded: ${problem}`],
    ]);
  });
});

describe("a model that is not served any more", () => {
  it("leaves no numbers, and its last records are written", async () => {
    const folder = tempFolder();
    const logs = new RequestLogs({ prefix: `${folder}/`, rate: 1, maxBytes: 1e6, files: 3 }, createSilentLogger());
    const memory = new MemoryBudget(1e6);
    for (const model of ["gone", "stays"]) {
      const lease = { description: { model, version: 1n }, release: () => {} } as Partial<Lease> as Lease;
      const message = { bytes: 1, encode: () => new Uint8Array(1) };
      logs
        .recorded(lease, { ref: { model }, options: {}, memory })
        .recordAs?.("classify_log", message)
        ?.finish(message);
    }
    logs.forget(new Set(["stays"]));
    await expect.poll(() => logs.counts()).toEqual([{ model: "stays", outcome: "ok", count: 1 }]);
    expect(logFiles(folder)).toEqual([expect.stringMatching(/gone/), expect.stringMatching(/stays/)]);
    expect(memory.heldBytes).toBe(0);
  });
});
