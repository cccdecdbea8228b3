import { expect, test } from "vitest";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";

/** Numbers whose JSON is too large to be written at once. */
const COUNT = 500_000;

async function serve(source: string) {
  const hooks = `${tempFolder({ "inference.ts": source })}/inference.ts`;
  const server = await startServer({ models: { half: { driver: "onnx", path: HALF, hooks } } });
  const invoke = async (body: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${server.httpUrl}/invocations`, { method: "POST", body, headers });
    return { status: answer.status, type: answer.headers.get("content-type"), text: await answer.text() };
  };
  return { server, invoke };
}

/** A body of numbers with semicolons between them. */
const PAIR = `
  import type { InferenceContext, InferenceData, InferenceResponse } from "kserving";

  export function input_handler(data: InferenceData, context: InferenceContext) {
    if (context.request_content_type !== "text/x-own") throw new Error("unsupported content type " + context.request_content_type);
    return JSON.stringify({ instances: data.read().toString().split(";").map(Number) });
  }
  export async function output_handler(response: InferenceResponse, context: InferenceContext) {
    if (response.status_code !== 200) throw new Error("the model says " + response.text);
    const { predictions } = response.json() as { predictions: number[] };
    return [predictions.join(";"), context.accept_header] as const;
  }
`;

test("input_handler makes the request of the model, output_handler the answer", async () => {
  const { invoke } = await serve(PAIR);
  const headers = { "content-type": "text/x-own", accept: "text/x-other" };
  expect(await invoke("1;2", headers)).toEqual({ status: 200, type: "text/x-other", text: "2.5;3" });
  const bad = await invoke("[1]", { "content-type": "application/json" });
  expect([bad.status, bad.text]).toEqual([500, expect.stringContaining("unsupported content type application/json")]);
  const refused = await invoke("1;x", headers);
  expect([refused.status, refused.text]).toEqual([500, expect.stringContaining("the model says {")]);
});

test("output_handler gets the whole of a large answer", async () => {
  const { invoke } = await serve(PAIR);
  const { status, text } = await invoke(Array(COUNT).fill("1").join(";"), { "content-type": "text/x-own" });
  expect([status, text.split(";").length]).toEqual([200, COUNT]);
});

test("the model answers other protocols without its handlers", async () => {
  const { server } = await serve(PAIR);
  const body = JSON.stringify({ instances: [1] });
  const answer = await fetch(`${server.httpUrl}/v1/models/half:predict`, { method: "POST", body });
  expect(await answer.json()).toEqual({ predictions: [2.5] });
});

test("handler gets the container's context, whose URL and port lead to the model", async () => {
  const { server, invoke } = await serve(`
    export async function handler(data, context) {
      const answer = await fetch(context.rest_uri, { method: "POST", body: data.read() });
      return [JSON.stringify({ context, answer: await answer.json() }), "application/json"];
    }
  `);
  const attributes = "tfs-model-name=half,tfs-model-version=1,tfs-method=predict,own=1";
  const asked = { "content-type": "a/b", accept: "c/d", "x-amzn-sagemaker-custom-attributes": attributes };
  const [full, bare] = [await invoke('{"instances":[2]}', asked), await invoke('{"instances":[2]}')];
  const port = new URL(server.httpUrl).port;
  expect(JSON.parse(full.text)).toEqual({
    answer: { predictions: [3] },
    context: {
      model_name: "half",
      model_version: "1",
      method: "predict",
      rest_uri: `http://localhost:${port}/v1/models/half/versions/1:predict`,
      grpc_port: server.grpcAddress.split(":").at(-1),
      channel: null,
      custom_attributes: attributes,
      request_content_type: "a/b",
      accept_header: "c/d",
      content_length: 17,
    },
  });
  expect(JSON.parse(bare.text)).toMatchObject({
    answer: { predictions: [3] },
    context: { model_name: null, model_version: null, method: null, custom_attributes: null },
  });
});
