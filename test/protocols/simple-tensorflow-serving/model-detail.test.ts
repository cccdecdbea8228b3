import { expect, test } from "vitest";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import { ScriptedService } from "../../grpc/scripted-service.ts";
import { startServer } from "../../helpers/start-server.ts";
import { serveHttp } from "../../proxy/serve-http.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";

async function read(url: string) {
  const answer = await fetch(url);
  return [answer.status, await answer.json()];
}

const STATUS = [{ version: "1", state: "AVAILABLE", status: { error_code: "OK", error_message: "" } }];

test("a model is described beside the states of its versions, where that is asked for", async () => {
  const models = { half: { driver: "onnx", path: HALF } };
  const { httpUrl } = await startServer({ models, simpleTensorflowServing: true });
  const detail = {
    model_name: "half",
    model_base_path: "",
    model_version_list: ["1"],
    model_signature: {
      inputs: [{ name: "x", dtype: 1, shape: [-1] }],
      outputs: [{ name: "y", dtype: 1, shape: [-1] }],
    },
    platform: "ONNX",
    model_version_status: STATUS,
  };
  expect(await read(`${httpUrl}/v1/models/half`)).toEqual([200, detail]);
  expect(await read(`${httpUrl}/v1/models`)).toEqual([200, [detail]]);
  expect(await read(`${httpUrl}/v1/models/half/versions/1`)).toEqual([200, { model_version_status: STATUS }]);
  expect(await read(`${httpUrl}/v1/models/none`)).toEqual([404, { error: expect.stringContaining("none") }]);
});

test("the states of a model's versions are alone where that is not asked for: strict clients take no other members", async () => {
  const { httpUrl } = await startServer({ models: { half: { driver: "onnx", path: HALF } } });
  expect(await read(`${httpUrl}/v1/models/half`)).toEqual([200, { model_version_status: STATUS }]);
});

test("a model that is not loaded has no versions in its description", async () => {
  const models = { half: { driver: "onnx", path: HALF } };
  const { httpUrl, service } = await startServer({ models, simpleTensorflowServing: true });
  await service.unload("half");
  const detail = { model_version_list: [], model_signature: { inputs: [], outputs: [] }, platform: "" };
  expect(await read(`${httpUrl}/v1/models`)).toEqual([200, [expect.objectContaining(detail)]]);
});

test("a pipeline has the names of its drivers, and 0 for a dtype that is not known", async () => {
  const inputs = [{ name: "x", dtype: "bytes" }] as const;
  const hooks = defineHooks({ inputs, preprocess: [(values) => values, null] });
  const stages = [{ driver: "null" }, { driver: "null" }];
  const { httpUrl } = await startServer({ stages, hooks, simpleTensorflowServing: true });
  const detail = {
    platform: "null + null",
    model_signature: { inputs: [{ name: "x", dtype: 7, shape: [] }], outputs: [] },
  };
  expect(await read(`${httpUrl}/v1/models`)).toEqual([200, [expect.objectContaining(detail)]]);
});

test("GET /health is a text where Simple TensorFlow Serving is meant", async () => {
  const service = new ScriptedService();
  const { url } = await serveHttp(service, { simpleTensorflowServing: true });
  const ask = async () => {
    const answer = await fetch(`${url}/health`);
    return [answer.status, answer.headers.get("content-type"), await answer.text()];
  };
  expect(await ask()).toEqual([200, "text/plain; charset=utf-8", "healthy"]);
  service.setReady(false);
  expect(await ask()).toEqual([503, "text/plain; charset=utf-8", "unavailable"]);
});
