import { afterAll, describe, expect, it, test } from "vitest";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import { createServer } from "../../../src/index.ts";
import type { ModelRef } from "../../../src/serving/inference-service.ts";
import type { ServableDescription } from "../../../src/serving/servable-description.ts";
import { ScriptedService } from "../../grpc/scripted-service.ts";
import { startServer } from "../../helpers/start-server.ts";
import { serveHttp } from "../../proxy/serve-http.ts";

const MODEL = (name: string) => `test/fixtures/models/${name}.onnx`;
const FLOATS = [{ name: "x", dtype: "float64", shape: [-1] }] as const;
/** A model whose input is that of TensorFlow's estimators. */
class EstimatorService extends ScriptedService {
  override describe(ref: ModelRef): ServableDescription {
    const inputs = [
      { name: "inputs", dtype: "bytes", shape: [-1], nativeName: "input_example_tensor:0" },
      { name: "plain", dtype: "bytes", shape: [-1] },
    ] as const;
    return { ...super.describe(ref), signatures: { serving_default: { inputs } } };
  }
}

const server = await createServer({
  http: {},
  models: {
    default: { driver: "onnx", path: MODEL("add-two-inputs") },
    half: { driver: "onnx", path: MODEL("half-plus-two") },
    int32: { driver: "onnx", path: MODEL("identity-int32") },
    strings: { driver: "onnx", path: MODEL("identity-string") },
    echo: { driver: "null" },
    'it\'s "odd"': { driver: "null" },
  },
});

afterAll(() => server.close());

async function post(body: unknown, headers: Record<string, string> = {}, url = `${server.httpUrl}/`) {
  const answer = await fetch(url, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, json: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

describe("POST / with JSON", () => {
  it("answers an object with each output, from the model default", async () => {
    const { status, headers, json } = await post({ data: { a: [1, 2], b: [10, 20] } });
    expect([status, headers.get("content-type"), headers.get("x-model-name")]).toEqual([
      200,
      "application/json",
      "default",
    ]);
    expect(json).toEqual({ sum: [11, 22] });
  });

  it("takes model_version as a number or a text, signature_name, and a charset", async () => {
    const data = { a: [1], b: [2] };
    for (const model_version of [1, "1", "", null]) {
      const request = { model_name: "default", model_version, signature_name: "serving_default", data };
      const { status } = await post(request, { "content-type": "application/json; charset=utf-8" });
      expect(status).toBe(200);
    }
  });

  it("converts numbers to the input's dtype", async () => {
    const { text } = await post('{"model_name": "int32", "data": {"x": [11.0, 2e0, -3]}}');
    expect(text).toBe('{"y": [11, 2, -3]}\n');
  });

  it("gives a list to a model's only input, and the member data too", async () => {
    for (const data of [[1, 2], { data: [1, 2] }]) {
      expect((await post({ model_name: "half", data })).json).toEqual({ y: [2.5, 3] });
    }
  });

  it("passes over members that are no input", async () => {
    expect((await post({ data: { a: [1], b: [2], c: "no" } })).json).toEqual({ sum: [3] });
  });

  it("keeps texts as they are, and decodes {b64} in either alphabet", async () => {
    const data = { x: ["a\u00e9", { b64: "-_8=" }, { b64: "+/8" }, { b64: "aGk" }] };
    const { json } = await post({ model_name: "echo", data });
    expect(json).toEqual({ x: ["a\u00e9", { b64: "+/8=" }, { b64: "+/8=" }, "hi"] });
  });

  it("takes any names where the model describes no inputs", async () => {
    const data = { "it's": [[1.5]], __proto__x: [true], s: "t" };
    expect((await post({ model_name: 'it\'s "odd"', data })).json).toEqual(data);
  });

  it("writes NaN and Infinity as Python's JSON does", async () => {
    const { text } = await post('{"model_name": "echo", "data": {"x": [NaN, Infinity, null, 1.0]}}');
    expect(text).toBe('{"x": [NaN, Infinity, NaN, 1.0]}\n');
  });

  it("decodes the texts of an estimator's examples where base64_decode is said", async () => {
    const { url } = await serveHttp(new EstimatorService());
    const data = { inputs: ["Cg=="], plain: ["Cg=="] };
    const decoded = await post({ base64_decode: true, data }, {}, `${url}/`);
    expect(decoded.json).toEqual({ inputs: ["\n"], plain: ["Cg=="] });
    expect((await post({ data }, {}, `${url}/`)).json).toEqual(data);
    expect((await post({ base64_decode: true, data: { ...data, inputs: ["?"] } }, {}, `${url}/`)).text).toMatch(
      /Input \\"inputs\\" has a text that is not base64/,
    );
  });

  it("asks the only model where no name is given", async () => {
    const { httpUrl } = await startServer({
      stages: [{ driver: "null" }],
      name: "other",
      hooks: defineHooks({ inputs: FLOATS, outputs: FLOATS, preprocess: (inputs) => inputs }),
    });
    const { headers, json } = await post({ data: [0.1] }, {}, `${httpUrl}/?a=b`);
    expect([headers.get("x-model-name"), json]).toEqual(["other", { x: [0.1] }]);
  });

  it("reads and writes large bodies in a codec thread", async () => {
    const row = Array.from({ length: 20_000 }, (_, index) => index + 0.5);
    const { status, json } = await post({ model_name: "half", data: { x: row } });
    const y = (json as { y: number[] }).y;
    expect([status, y.length, y.at(-1)]).toEqual([200, 20_000, 19_999.5 / 2 + 2]);
    const names = await post({ model_name: "none", data: { x: row } });
    expect([names.status, names.text]).toEqual([400, expect.stringContaining("Invalid model name: none")]);
    const missing = await post({ data: { a: row } });
    expect([missing.status, missing.text]).toEqual([400, expect.stringContaining("Input op name 'b' does not exist")]);
  });

  it.each([
    ["no content type that it knows", "x", { "content-type": "text/plain" }, "Error, unsupported content type"],
    ["broken JSON", "{", {}, "Invalid json data: "],
    ["an empty body", "", {}, "Invalid json data: "],
    ["JSON that is no object", "[1]", {}, "Invalid json data: expected an object"],
    ["no data", "{}", {}, "Inference with empty data, please check the request JSON"],
    ["null for data", '{"data": null}', {}, "Inference with empty data, please check the request JSON"],
    [
      "an unknown model",
      '{"model_name": "no", "data": {}}',
      {},
      "Invalid model name: no, available models: ['default', 'half'",
    ],
    ["a model name that is no text", '{"model_name": 1, "data": {}}', {}, "model_name is 1; expected a text."],
    ["a version that is no number", '{"model_version": "new", "data": {}}', {}, 'model_version is "new"'],
    ["a version with a fraction", '{"model_version": 1.5, "data": {}}', {}, "model_version is 1.5"],
    ["a version beyond 2^63", '{"model_version": 9223372036854775808, "data": {}}', {}, "expected a whole number."],
    [
      "an unknown signature",
      '{"signature_name": "no", "data": {"a": [1]}}',
      {},
      "Fail to request the signature name: no, please check the request JSON",
    ],
    ["a missing input", '{"data": {"a": [1]}}', {}, "Input op name 'b' does not exist in input data: {"],
    ["a list for several inputs", '{"data": [1]}', {}, "\"data\" is one value, and the model has the inputs 'a', 'b'"],
    [
      "a fraction for an integer",
      '{"model_name": "int32", "data": {"x": [1.5]}}',
      {},
      "data[0] is 1.5; expected int32",
    ],
    ["a text for a number", '{"data": {"a": ["1"], "b": [1]}}', {}, 'Input "a": data[0] is "1"; expected float32'],
    ["ragged lists", '{"model_name": "echo", "data": {"x": [[1], [1, 2]]}}', {}, "a tensor cannot be ragged"],
    ["base64 that is none", '{"model_name": "strings", "data": {"x": [{"b64": "?"}]}}', {}, "is not base64"],
    [
      "functions before a model",
      '{"preprocess": true, "data": {}}',
      {},
      '"preprocess" is not taken: functions of a model',
    ],
    ["functions behind a model", '{"postprocess": "x", "data": {}}', {}, '"postprocess" is not taken: functions of a'],
    ["a profile", '{"run_profile": "true", "data": {}}', {}, '"run_profile" is not taken: TensorFlow\'s profile'],
  ])("refuses %s", async (_, body, headers, message) => {
    const { status, json } = await post(body, headers as Record<string, string>);
    expect([status, (json as { error: string }).error]).toEqual([400, expect.stringContaining(message)]);
  });

  it("refuses an unknown version", async () => {
    const { status, text } = await post({ model_version: 7, data: { a: [1], b: [1] } });
    expect([status, text]).toEqual([404, expect.stringContaining("Specific(default, 7)")]);
  });
});

describe("GET /", () => {
  it("lists the models in text", async () => {
    const answer = await fetch(`${server.httpUrl}/`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
    expect(await answer.text()).toMatch(
      /^kserving \S+\n(?:.*\n)*half 1 AVAILABLE\n(?:.*\n)*POST \/ runs a model: docs\/simple-tensorflow-serving\.md\n$/,
    );
  });
});

test("a single user with a password is let in, and no other but for health", async () => {
  const { httpUrl } = await startServer({ stages: [{ driver: "null" }], auth: { username: "ann", password: "pw" } });
  const ask = async (method: string, path: string, user?: string) => {
    const headers = user === undefined ? {} : { authorization: `Basic ${Buffer.from(user).toString("base64")}` };
    const answer = await fetch(httpUrl + path, { method, headers });
    return [answer.status, answer.headers.get("www-authenticate")];
  };
  for (const [method, path] of [
    ["GET", "/"],
    ["POST", "/"],
    ["GET", "/v1/models"],
    ["GET", "/v1/models/default/gen_json"],
  ]) {
    expect(await ask(method!, path!)).toEqual([401, 'Basic realm="kserving", charset="UTF-8"']);
    expect((await ask(method!, path!, "ann:no"))[0]).toBe(401);
    expect((await ask(method!, path!, "ann:pw"))[0]).not.toBe(401);
  }
  expect((await ask("GET", "/health"))[0]).toBe(200);
});
