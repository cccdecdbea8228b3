import { expect, onTestFinished, test, vi } from "vitest";
import { startServer } from "../helpers/start-server.ts";

const HALF = { stages: [{ driver: "onnx", path: "test/fixtures/models/half-plus-two.onnx" }] };

async function ask(url: string, body?: object) {
  const answer = await fetch(url, body && { method: "POST", body: JSON.stringify(body) });
  return { status: answer.status, text: await answer.text() };
}

test("vertex-ai.ts answers at the routes of its container's variables", async () => {
  vi.stubEnv("AIP_HEALTH_ROUTE", "/v1/endpoints/1/deployedModels/2");
  vi.stubEnv("AIP_PREDICT_ROUTE", "/v1/endpoints/1/deployedModels/2:predict");
  onTestFinished(() => void vi.unstubAllEnvs());
  const { httpUrl } = await startServer({ ...HALF, hooks: "examples/hooks/vertex-ai.ts" });
  const place = `${httpUrl}/v1/endpoints/1/deployedModels/2`;
  expect((await ask(place)).status).toBe(200);
  expect(await ask(`${place}:predict`, { instances: [1, 2] })).toEqual({
    status: 200,
    text: '{"predictions":[2.5,3]}',
  });
  expect(await ask(`${place}:predict`, { instances: [{ x: 1 }, { x: 2 }] })).toMatchObject({ status: 200 });
  expect(await ask(`${place}:predict`, { instances: [] })).toMatchObject({
    status: 400,
    text: expect.stringContaining("with at least one instance"),
  });
});

test("azure-ml.ts answers scores and says that it lives", async () => {
  const { httpUrl } = await startServer({ ...HALF, hooks: "examples/hooks/azure-ml.ts" });
  expect(await ask(`${httpUrl}/`)).toEqual({ status: 200, text: "Healthy" });
  expect(await ask(`${httpUrl}/score`, { data: [1, 2] })).toEqual({ status: 200, text: "[2.5,3]" });
  expect(await ask(`${httpUrl}/score`, { input_data: [4] })).toEqual({ status: 200, text: "[4]" });
  expect(await ask(`${httpUrl}/score`, { rows: [4] })).toMatchObject({ status: 400 });
});
