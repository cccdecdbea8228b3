import { expect, test } from "vitest";
import { createRemoteService } from "../../src/client/remote/remote-service.ts";
import { ServingError } from "../../src/errors.ts";
import { toTensors } from "../../src/tensor/plain-value.ts";
import { echo, ScriptedService, serve } from "../grpc/scripted-service.ts";
import { serveHttp } from "../proxy/serve-http.ts";

const KSERVE = { inputs: [{ name: "x", datatype: "FP32", shape: [1], data: [1] }] };
/** Asks for an answer in parts. */
const LINES = { accept: "application/x-ndjson" };

test.each([
  ["TensorFlow Serving's REST API", "/v1/models/m:predict", { inputs: [1] }, {}],
  ["the same with a large body", "/v1/models/m:predict", { inputs: new Array(40_000).fill(1) }, {}],
  ["KServe V2", "/v2/models/m/infer", KSERVE, {}],
  ["KServe V2 with a body that cannot be read", "/v2/models/m/infer", { inputs: 1 }, {}],
  ["KServe V2 with a header that is wrong", "/v2/models/m/infer", KSERVE, { "inference-header-content-length": "x" }],
  ["KServe V2's generate", "/v2/models/m/generate", { x: 1 }, {}],
  ["the same with a body that cannot be read", "/v2/models/m/generate", [], {}],
  ["its stream", "/v2/models/m/generate_stream", { x: 1 }, {}],
  ["MLServer's stream", "/v2/models/m/infer_stream", KSERVE, {}],
  ["TensorFlow Serving's REST API in parts", "/v1/models/m:predict", { inputs: [1] }, LINES],
  ["a model's metadata", "/v2/models/m", undefined, {}],
  ["Kibernetika's proxy", "/predict/m", { inputs: { x: { dtype: "float", data: [1] } } }, {}],
  ["the same in parts", "/predict/m", { inputs: { x: { dtype: "float", data: [1] } } }, LINES],
  ["the same for PredictJSON", "/serving-proxy", { x: 1 }, {}],
])("%s releases its leases, whether requests fail or not", async (_, path, body, headers) => {
  for (const script of [echo, () => Promise.reject(new ServingError("internal", "broken"))]) {
    const service = new ScriptedService(script);
    const { url } = await serveHttp(service);
    const post = { method: "POST", body: JSON.stringify(body), headers };
    await (await fetch(`${url}${path}`, body === undefined ? {} : post)).text();
    expect([service.acquired > 0, service.leases]).toEqual([true, 0]);
  }
});

test.each([
  ["Predict", { kind: "tensors", tensors: toTensors({ x: 1 }) }],
  ["PredictJSON", { kind: "json", json: Buffer.from('{"x": 1}') }],
] as const)("%s over gRPC releases its leases, whether requests fail or not", async (_, inputs) => {
  for (const script of [echo, () => Promise.reject(new ServingError("internal", "broken"))]) {
    const service = new ScriptedService(script);
    const remote = createRemoteService((await serve(service)).address, {});
    const call = { id: "1", metadata: {}, signal: new AbortController().signal };
    await remote.infer({ ref: { model: "" }, signature: "", inputs, call }).catch(() => {});
    await remote.close();
    expect([service.acquired > 0, service.leases]).toEqual([true, 0]);
  }
});
