import { isDeepStrictEqual } from "node:util";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { ScriptedService } from "../../grpc/scripted-service.ts";
import { shareServer, startServer } from "../../helpers/start-server.ts";
import { serveHttp } from "../../proxy/serve-http.ts";

const ECHO = { stages: [{ driver: "null" }] };

const echo = shareServer(() => ECHO);

async function post(url: string, path: string, body: string | Buffer, headers: Record<string, string> = {}) {
  const response = await fetch(url + path, { method: "POST", body, headers });
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
}

async function errorOf(url: string, path: string, init: RequestInit = { method: "POST", body: '{"inputs": 1}' }) {
  const response = await fetch(url + path, init);
  return [response.status, ((await response.json()) as { error: string }).error];
}

describe("POST /v1/models/NAME:predict", () => {
  test("answers rows with rows and columns with columns", async () => {
    const { httpUrl } = await echo();
    expect(await post(httpUrl, "/v1/models/default:predict", '{"instances": [[1, 2.5], [3, 4]]}')).toEqual({
      status: 200,
      type: "application/json",
      text: '{\n    "predictions": [[1.0, 2.5], [3.0, 4.0]\n    ]\n}',
    });
    const { text } = await post(httpUrl, "/v1/models/default:predict", '{"inputs": {"a": [1], "b": {"b64": "/w=="}}}');
    expect(JSON.parse(text)).toEqual({ outputs: { a: [1], b: { b64: "/w==" } } });
  });

  test("gives the outputs of the filter alone, in small and large bodies", async () => {
    const { httpUrl } = await echo();
    const ask = (more: string) =>
      post(httpUrl, "/v1/models/default:predict", `{"inputs": {"a": 1, "b": 2, "c": 3}, ${more}}`);
    for (const filler of ["", `, "filler": "${"x".repeat(70_000)}"`]) {
      expect(JSON.parse((await ask(`"output_filter": ["b"]${filler}`)).text)).toEqual({ outputs: 2 });
      expect(JSON.parse((await ask(`"output_filter": []${filler}`)).text)).toEqual({ outputs: { a: 1, b: 2, c: 3 } });
      expect(await ask(`"output_filter": ["b", "b"]${filler}`)).toMatchObject({ status: 400 });
      expect(await ask(`"output_filter": "b"${filler}`)).toMatchObject({
        status: 400,
        text: expect.stringContaining("'output_filter' key must be a list of output names."),
      });
    }
  });

  test("refuses a filter with names that the signature does not have, with the text of gRPC", async () => {
    const hooks = defineHooks({
      outputs: [{ name: "y", dtype: "float32" }],
      postprocess: ({ x }) => ({ y: x as never }),
    });
    const { httpUrl } = await startServer({ ...ECHO, hooks, workers: 0 });
    const ask = (filter: string) =>
      post(httpUrl, "/v1/models/default:predict", `{"inputs": {"x": 1.5}, "output_filter": ${filter}}`);
    expect(JSON.parse((await ask('["y"]')).text)).toEqual({ outputs: 1.5 });
    expect((await ask('["z"]')).text).toContain(
      "output tensor alias not found in signature: z Outputs expected to be in the set {y}.",
    );
    expect((await ask('["y", "y"]')).text).toContain("duplicate output tensor alias: y");
  });

  test("says in headers which version of which model has answered", async () => {
    const { httpUrl } = await startServer({ models: { größe: { driver: "null" } } });
    for (const [verb, body] of Object.entries({ predict: '{"inputs": 1}', regress: '{"examples": [{"x": 1.5}]}' })) {
      const { headers } = await fetch(`${httpUrl}/v1/models/${encodeURIComponent("größe")}:${verb}`, {
        method: "POST",
        body,
      });
      expect([headers.get("x-model-name"), headers.get("x-model-version")]).toEqual(["gr%C3%B6%C3%9Fe", "1"]);
    }
  });

  test("brings a large list of floats there and back", async () => {
    const { httpUrl } = await echo();
    const values = Array.from({ length: 150_528 }, (_, index) => Math.fround(Math.sin(index)));
    const { text } = await post(httpUrl, "/v1/models/default:predict", JSON.stringify({ instances: [values] }));
    const { predictions } = JSON.parse(text) as { predictions: number[][] };
    expect(isDeepStrictEqual(predictions[0]?.map(Math.fround), values)).toBe(true);
  });

  test("reads a body of more than 4 MB in turns, with the same result", async () => {
    const { httpUrl } = await echo();
    const values = Array.from({ length: 1_100_000 }, (_, index) => (index % 8) + 0.5);
    const { text } = await post(httpUrl, "/v1/models/default:predict", JSON.stringify({ inputs: values }));
    expect(text.slice(text.indexOf("["), -2).replaceAll(", ", ",")).toBe(JSON.stringify(values));
  });

  test("keeps large bodies apart that come at the same time and after one another", async () => {
    const { httpUrl } = await echo();
    const ask = async (seed: number) => {
      const values = Array.from({ length: 60_000 - 5000 * (seed % 4) }, (_, index) => seed + index / 1e5);
      const body = JSON.stringify({ inputs: values });
      const { text } = await post(httpUrl, "/v1/models/default:predict", body);
      const { outputs } = JSON.parse(text) as { outputs: number[] };
      expect(isDeepStrictEqual(outputs.map(Math.fround), values.map(Math.fround))).toBe(true);
    };
    for (let round = 0; round < 4; round++) await Promise.all([1, 2, 3, 4].map((seed) => ask(4 * round + seed)));
  });

  test("takes the version, any case of the path, and an encoded name", async () => {
    const { httpUrl } = await startServer({ ...ECHO, name: "a/b:c" });
    const path = `/V1/Models/${encodeURIComponent("a/b:c")}`;
    expect((await post(httpUrl, `${path}/versions/1:predict`, '{"inputs": 1}')).status).toBe(200);
    expect((await post(httpUrl, `${path}/Versions/01:predict`, '{"inputs": 1}')).status).toBe(200);
  });

  test("does not look at the content type", async () => {
    const { httpUrl } = await echo();
    const type = { "content-type": "application/x-www-form-urlencoded" };
    expect((await post(httpUrl, "/v1/models/default:predict", '{"inputs": 1}', type)).status).toBe(200);
  });

  test("takes a body in gzip, and refuses what only claims to be", async () => {
    const { httpUrl } = await echo();
    const zipped = { "content-encoding": "gzip" };
    expect((await post(httpUrl, "/v1/models/default:predict", gzipSync('{"inputs": 7}'), zipped)).text).toContain("7");
    expect(await post(httpUrl, "/v1/models/default:predict", '{"inputs": 7}', zipped)).toMatchObject({ status: 400 });
  });

  test("reads the declared signature's inputs from their names and dtypes", async () => {
    const hooks = defineHooks({
      inputs: [{ name: "x", dtype: "float64" }],
      outputs: [{ name: "y", dtype: "float64" }],
      process: ({ x }) => ({ y: x as never }),
    });
    const { httpUrl } = await startServer({ ...ECHO, hooks });
    expect(JSON.parse((await post(httpUrl, "/v1/models/default:predict", '{"instances": [1, 2]}')).text)).toEqual({
      predictions: [1, 2],
    });
    expect(
      await errorOf(httpUrl, "/v1/models/default:predict", { method: "POST", body: '{"instances": ["a"]}' }),
    ).toEqual([
      400,
      `Failed to process element: 0 of 'instances' list. Error: INVALID_ARGUMENT: JSON Value: "a" Type: String is not of expected type: double`,
    ]);
  });

  test("answers nothing with an empty list or object where no outputs are declared, else says so", async () => {
    const nothing = defineHooks({ process: () => ({}) });
    const { httpUrl } = await startServer({ ...ECHO, hooks: nothing });
    expect(JSON.parse((await post(httpUrl, "/v1/models/default:predict", '{"inputs": 1}')).text)).toEqual({
      outputs: {},
    });
    expect(JSON.parse((await post(httpUrl, "/v1/models/default:predict", '{"instances": [1]}')).text)).toEqual({
      predictions: [],
    });
    const service = new ScriptedService((request) => ({
      ...request,
      version: 1n,
      metadata: {},
      outputs: { kind: "tensors", tensors: {} },
    }));
    service.describe = ({ model }) => ({
      model,
      version: 1n,
      drivers: [],
      signatures: { serving_default: { outputs: [] } },
    });
    const { url } = await serveHttp(service);
    expect(await errorOf(url, "/v1/models/m:predict")).toEqual([400, "Cannot convert empty tensor map to JSON"]);
  });

  test("sends the headers that hooks set", async () => {
    const hooks = defineHooks({
      process: (inputs, ctx) => {
        Object.assign(ctx.response.metadata, {
          "x-took": "5",
          "content-length": "3",
          "bad name": "x",
          "x-line": "a\r\nb",
        });
        return inputs;
      },
    });
    const { httpUrl } = await startServer({ ...ECHO, hooks });
    const response = await fetch(`${httpUrl}/v1/models/default:predict`, { method: "POST", body: '{"inputs": 1}' });
    expect([response.headers.get("x-took"), response.headers.get("x-line")]).toEqual(["5", null]);
    expect(await response.json()).toEqual({ outputs: 1 });
  });

  test("passes headers, an id and a label on", async () => {
    const service = new ScriptedService();
    const { url } = await serveHttp(service);
    await post(url, "/v1/models/m/labels/stable%20one:predict", '{"inputs": 1}', {
      "x-request-id": "id-1",
      "X-Colour": "blue",
    });
    expect(service.requests[0]).toMatchObject({
      model: "m",
      label: "stable one",
      id: "id-1",
      metadata: { "x-colour": "blue" },
    });
    await post(url, "/v1/models/m:predict", '{"inputs": 1}');
    expect(service.requests[1]?.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("leaves the choice of the version to the service", async () => {
    const service = new ScriptedService();
    const { url } = await serveHttp(service);
    await post(url, "/v1/models/m:predict", '{"inputs": 1}');
    await post(url, "/v1/models/m/versions/3:predict", '{"inputs": 1}');
    await post(url, "/v1/models/m/labels/stable:predict", '{"inputs": 1}');
    expect(service.requests.map(({ version, label }) => [version, label])).toEqual([
      [undefined, undefined],
      [3n, undefined],
      [undefined, "stable"],
    ]);
  });

  test.each([
    ["/v1/models/default/labels/x:predict", 400, "Unrecognized servable version label: x"],
    [
      "/v1/models/default/versions/9223372036854775808:predict",
      400,
      "Failed to convert version: 9223372036854775808 to numeric.",
    ],
    [
      "/v1/models/default:PREDICT",
      400,
      "Malformed request: POST /v1/models/default:PREDICT. Expected POST /v1/models/NAME[/versions/N]:predict; GET /v1/models/NAME tells its versions, GET /v1/models/NAME/metadata what it takes.",
    ],
    [
      "/v1/models/default:predict?x=1",
      400,
      "Malformed request: POST /v1/models/default:predict?x=1. Expected POST /v1/models/NAME[/versions/N]:predict; GET /v1/models/NAME tells its versions, GET /v1/models/NAME/metadata what it takes.",
    ],
    [
      "/v1/models/default/versions/1/labels/a:predict",
      400,
      "Malformed request: POST /v1/models/default/versions/1/labels/a:predict. Expected POST /v1/models/NAME[/versions/N]:predict; GET /v1/models/NAME tells its versions, GET /v1/models/NAME/metadata what it takes.",
    ],
    [
      "/v1/models/default/versions/one:predict",
      400,
      "Malformed request: POST /v1/models/default/versions/one:predict. Expected POST /v1/models/NAME[/versions/N]:predict; GET /v1/models/NAME tells its versions, GET /v1/models/NAME/metadata what it takes.",
    ],
    [
      "/v1/models/:predict",
      400,
      "Malformed request: POST /v1/models/:predict. Expected POST /v1/models/NAME[/versions/N]:predict; GET /v1/models/NAME tells its versions, GET /v1/models/NAME/metadata what it takes.",
    ],
    [
      "/v1/",
      400,
      "Malformed request: POST /v1/. Expected POST /v1/models/NAME[/versions/N]:predict; GET /v1/models/NAME tells its versions, GET /v1/models/NAME/metadata what it takes.",
    ],
    [
      "/v1/models/default%zz:predict",
      404,
      'Servable not found for request: Latest(default%zz). Did you mean "default"? This server has default.',
    ],
  ])("refuses %s", async (path, status, message) => {
    const { httpUrl } = await echo();
    expect(await errorOf(httpUrl, path)).toEqual([status, message]);
  });

  test("finds JSON faulty before it looks for the model", async () => {
    const { httpUrl } = await echo();
    expect(await errorOf(httpUrl, "/v1/models/nope:predict", { method: "POST", body: "{" })).toEqual([
      400,
      "JSON Parse error: Missing a name for object member. at offset: 1",
    ]);
    expect(await errorOf(httpUrl, "/v1/models/nope:predict", { method: "POST" })).toEqual([
      400,
      "JSON Parse error: The document is empty",
    ]);
  });

  test("writes errors as the original does, whatever the hook fails with", async () => {
    const hooks = defineHooks({
      process: () => {
        throw new Error("the hook's own words");
      },
    });
    const { httpUrl } = await startServer({ ...ECHO, hooks });
    const { status, type, text } = await post(httpUrl, "/v1/models/default:predict", '{"inputs": 1}');
    expect([status, type]).toEqual([500, "application/json"]);
    expect(text).toMatch(/^\{\n {4}"error": ".*"\n\}$/);
    expect(text).not.toContain("at ");
  });

  test("answers complex outputs with 400", async () => {
    const hooks = defineHooks({ process: () => ({ y: createTensor("complex64", [1], Float32Array.of(1, 2)) }) });
    const { httpUrl } = await startServer({ ...ECHO, hooks });
    expect(await errorOf(httpUrl, "/v1/models/default:predict")).toEqual([
      400,
      "Failed to write JSON value for tensor type: complex64",
    ]);
  });
});

describe("other requests under /v1/", () => {
  test.each(["GET", "PUT", "DELETE", "PATCH"])("refuses %s", async (method) => {
    const { httpUrl } = await echo();
    const path = "/v1/models/default:predict";
    expect(await errorOf(httpUrl, path, { method })).toEqual([
      400,
      `Malformed request: ${method} ${path}. Expected POST /v1/models/NAME[/versions/N]:predict; GET /v1/models/NAME tells its versions, GET /v1/models/NAME/metadata what it takes.`,
    ]);
  });

  test("answers OPTIONS to a request with an origin", async () => {
    const { httpUrl } = await echo();
    const url = `${httpUrl}/v1/models/default:predict`;
    const allowed = await fetch(url, { method: "OPTIONS", headers: { origin: "https://example.org" } });
    expect([allowed.status, await allowed.text()]).toEqual([200, ""]);
    expect((await fetch(url, { method: "OPTIONS" })).status).toBe(400);
  });
});

test("GET /v1/models lists every model with the states of its versions", async () => {
  const { httpUrl } = await startServer({ models: { a: { driver: "null" }, b: { driver: "null" } } });
  const status = { error_code: "OK", error_message: "" };
  const versions = [{ version: "1", state: "AVAILABLE", status }];
  expect(await (await fetch(`${httpUrl}/v1/models`)).json()).toMatchObject({
    data: [
      { model_name: "a", model_version_status: versions },
      { model_name: "b", model_version_status: versions },
    ],
  });
});
