import { expect, test, vi } from "vitest";
import { startServer } from "../../helpers/start-server.ts";

const models = { half: { driver: "onnx", path: "test/fixtures/models/half-plus-two.onnx" } };

async function read(url: string) {
  const answer = await fetch(url);
  return [answer.status, await answer.json()];
}

test("KServe's client finds the server alive, its models by name, and a model ready", async () => {
  const { httpUrl } = await startServer({ models, kserveRoutes: true });
  expect(await read(`${httpUrl}/`)).toEqual([200, { status: "alive" }]);
  expect(await read(`${httpUrl}/v1/models`)).toEqual([200, { models: ["half"] }]);
  expect(await read(`${httpUrl}/v1/models/half`)).toMatchObject([200, { name: "half", ready: true }]);
});

test("a client of TensorFlow Serving finds the states of versions in the same answer", async () => {
  const { httpUrl } = await startServer({ models, kserveRoutes: true });
  const [, status] = await read(`${httpUrl}/v1/models/half`);
  expect(status).toMatchObject({ model_version_status: [{ version: "1", state: "AVAILABLE" }] });
});

test("an unknown model is 404, and one that is not loaded 503, which KServe's client takes for not ready", async () => {
  const { httpUrl, service } = await startServer({ models, kserveRoutes: true });
  await service.unload("half");
  expect(await read(`${httpUrl}/v1/models/half`)).toEqual([503, { error: "Model with name half is not ready." }]);
  expect(await read(`${httpUrl}/v1/models/none`)).toEqual([404, { error: "Model with name none does not exist." }]);
});

test("a model is not ready whose threads are being replaced", async () => {
  const { httpUrl, service } = await startServer({ models, kserveRoutes: true });
  const states = service.index().map((state) => ({ ...state, isReady: false }));
  vi.spyOn(service, "index").mockReturnValue(states);
  expect(await read(`${httpUrl}/v1/models/half`)).toEqual([503, { error: "Model with name half is not ready." }]);
});

test.each(["GET", "POST"])("%s of a verb that is not there says what there is", async (method) => {
  const { httpUrl } = await startServer({ models, kserveRoutes: true });
  const answer = await fetch(`${httpUrl}/v1/models/half:explain`, { method });
  const error = expect.stringMatching(/^Malformed request: \w+ \/v1\/models\/half:explain\. Expected POST .*:predict/);
  expect([answer.status, await answer.json()]).toEqual([400, { error }]);
});

test("the routes are off unless they are asked for", async () => {
  const { httpUrl } = await startServer({ models });
  const [, list] = await read(`${httpUrl}/v1/models`);
  expect(list).not.toHaveProperty("models");
});

test("KServe's SDK is told whether a model is ready, and others get TensorFlow Serving's message alone", async () => {
  const { httpUrl, service } = await startServer({ models });
  const ask = async (agent: string, path = "half") => {
    const answer = await fetch(`${httpUrl}/v1/models/${path}`, { headers: { "user-agent": agent } });
    return [answer.status, await answer.json()];
  };
  const model_version_status = [{ version: "1", state: "AVAILABLE", status: { error_code: "OK", error_message: "" } }];
  const httpx = "python-httpx/0.28.1";
  expect(await ask(httpx)).toEqual([200, { name: "half", ready: true, model_version_status }]);
  expect(await ask("python-requests/2.32.4")).toEqual([200, { model_version_status }]);
  expect(await ask(httpx, "half/versions/1")).toEqual([200, { model_version_status }]);
  await service.unload("half");
  expect(await ask(httpx)).toEqual([503, { error: "Model with name half is not ready." }]);
});
