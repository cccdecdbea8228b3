import { describe, expect, it } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import type { DType } from "../../../src/tensor/dtype.ts";
import type { Signature } from "../../../src/tensor/signature/signature.ts";
import { createTensor, type Tensors } from "../../../src/tensor/tensor.ts";
import { ScriptedService } from "../../grpc/scripted-service.ts";
import { startServer } from "../../helpers/start-server.ts";
import { PartsService } from "../../proxy/parts-service.ts";
import { postForParts } from "../../proxy/read-parts.ts";
import { serveHttp } from "../../proxy/serve-http.ts";
import { connectOnce, floats, halfPlusTwo, nothing, post } from "./kserve-http.ts";

const GENERATE = "/v2/models/default/generate";
const text = (...texts: string[]) =>
  createTensor(
    "bytes",
    [texts.length],
    texts.map((each) => Buffer.from(each)),
  );

/** Inputs as Triton's own test of the extension has them, and others. */
const SIGNATURE: Signature = {
  inputs: [
    { name: "PROMPT", dtype: "bytes", shape: [1] },
    { name: "STREAM", dtype: "bool", shape: [1] },
    {
      name: "table",
      dtype: "float32",
      shape: [-1, -1, 2],
      default: createTensor("float32", [1, 1, 2], floats32(0, 0)),
    },
    { name: "ids", dtype: "int64", shape: [-1], default: createTensor("int64", [1], BigInt64Array.of(0n)) },
    { name: "small", dtype: "uint8", shape: [2], default: createTensor("uint8", [2], Uint8Array.of(0, 0)) },
    {
      name: "photo",
      dtype: "uint8",
      shape: [-1, -1, -1, 3],
      default: createTensor("uint8", [0, 1, 1, 3], Uint8Array.of()),
    },
  ],
};

function floats32(...values: number[]): Float32Array<ArrayBuffer> {
  return Float32Array.from(values);
}

/** Serves a model that tells what came, by name. */
async function serveInputs(): Promise<(body: unknown, route?: string) => Promise<{ status: number; answer: unknown }>> {
  const service = new PartsService(async function* (inputs) {
    const lines = Object.entries(inputs).map(([name, { dtype, shape }]) => `${name} ${dtype} [${shape}]`);
    yield { ...inputs, came: text(lines.join(", ")) };
  }, SIGNATURE);
  const { url } = await serveHttp(service);
  return async (body, route = GENERATE) => {
    const sent = typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(url + route, { method: "POST", body: sent });
    return { status: response.status, answer: await response.json() };
  };
}

const NEEDED = { PROMPT: "hello", STREAM: false };

describe("a request to generate", () => {
  it("has no more inputs than any other", async () => {
    const { url } = await serveHttp(new ScriptedService());
    const keys = Array.from({ length: 3000 }, (_, index) => [`k${index}`, index]);
    const body = JSON.stringify(Object.fromEntries(keys));
    const response = await fetch(url + GENERATE, { method: "POST", body });
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("more than 2048 inputs")]);
  });

  it.each([
    [{}, "PROMPT bytes [1], STREAM bool [1]"],
    [{ PROMPT: ["hello"], STREAM: [true] }, "PROMPT bytes [1], STREAM bool [1]"],
    [{ table: [1, 2, 3, 4] }, "PROMPT bytes [1], STREAM bool [1], table float32 [1,2,2]"],
    [{ table: [[[1, 2]], [[3, 4]]] }, "PROMPT bytes [1], STREAM bool [1], table float32 [2,1,2]"],
    [{ ids: 7, small: [1, 2] }, "PROMPT bytes [1], STREAM bool [1], ids int64 [1], small uint8 [2]"],
    [{ ids: [] }, "PROMPT bytes [1], STREAM bool [1], ids int64 [0]"],
    [{ parameters: { ids: [1, 2], unknown: 3 } }, "PROMPT bytes [1], STREAM bool [1], ids int64 [2]"],
    [{ unknown: "a", other: 1.5, third: true, nothing: null }, "PROMPT bytes [1], STREAM bool [1]"],
    [{ photo: { b64: "AAAA" } }, "PROMPT bytes [1], STREAM bool [1], photo bytes [1]"],
  ])("of %j has its keys as inputs of their types and shapes", async (keys, expected) => {
    const send = await serveInputs();
    expect(await send({ ...NEEDED, ...keys })).toMatchObject({ status: 200, answer: { came: expected } });
  });

  it.each([
    [{ PROMPT: 123 }, "Unable to parse JSON bytes array: attempt to access JSON non-string as string"],
    [{ PROMPT: { USER: "a" } }, "Unable to parse JSON bytes array: attempt to access JSON non-string as string"],
    [{ STREAM: "false" }, "Unable to parse 'data': attempt to access JSON non-boolean as boolean"],
    [{ table: "a" }, "Unable to parse 'data': attempt to access JSON non-number as double"],
    [{ ids: 1.5 }, "Unable to parse 'data': attempt to access JSON non-signed-integer as signed-integer"],
    [{ small: [1, -1] }, "Unable to parse 'data': attempt to access JSON non-unsigned-integer as unsigned-integer"],
    [{ table: [1, 2, 3] }, "The schema can not convert input 'table' to tensor with proper shape"],
    [{ PROMPT: ["a", "b"] }, "The schema can not convert input 'PROMPT' to tensor with proper shape"],
    [{ PARAMS: { a: 1 } }, "parameter 'PARAMS' has invalid type. It should be either 'int', 'bool', or 'string'."],
    [{ parameters: 1 }, "Expected JSON object for keyword: 'parameters'"],
    [
      { parameters: { nested: { twice: 1 } } },
      "Converting keyword: 'parameters': parameter 'nested' has invalid type. It should be either 'int', 'bool', or 'string'.",
    ],
    [{ parameters: { ids: "a" } }, "Converting keyword: 'parameters': Unable to parse 'data'"],
    [{ id: [1] }, "Unable to parse 'id'"],
    [{ priority: [1] }, "parameter 'priority' has invalid type. It should be either 'int', 'bool', or 'string'."],
    [{ parameters: { timeout: {} } }, "Converting keyword: 'parameters': parameter 'timeout' has invalid type."],
  ])("of %j is refused in Triton's words", async (keys, expected) => {
    const send = await serveInputs();
    for (const route of [GENERATE, `${GENERATE}_stream`]) {
      const { status, answer } = await send({ ...NEEDED, ...keys }, route);
      expect([status, (answer as { error: string }).error.slice(0, expected.length)]).toEqual([400, expected]);
    }
  });

  it.each([
    ["[]", "failed to parse the request JSON buffer"],
    ["", "failed to parse the request JSON buffer: The document is empty. at 0"],
    ["{}", "[request id: <id_unknown>] expected number of inputs between 2 and 6 but got 0 inputs for model 'default'"],
    ['{"PROMPT": "a"}', "[request id: <id_unknown>] expected number of inputs between 2 and 6 but got 1 inputs"],
    [
      '{"PROMPT": "a", "STREAM": true, "PROMPT": "b"}',
      "[request id: <id_unknown>] input 'PROMPT' already exists in request",
    ],
    [
      '{"PROMPT": "a", "STREAM": true, "STREAM": true, "PROMPT": "b"}',
      "[request id: <id_unknown>] input 'STREAM' already exists in request",
    ],
    [
      '{"id": "7", "PROMPT": "a", "STREAM": true, "parameters": {"ids": 1, "ids": 2}}',
      "[request id: 7] input 'ids' already exists in request",
    ],
    [
      '{"PROMPT": "a", "STREAM": true, "ids": 1, "parameters": {"ids": 2}}',
      "[request id: <id_unknown>] input 'ids' already exists in request",
    ],
    [
      '{"PROMPT": "a", "STREAM": true, "parameters": {}, "parameters": {"ids": 2}}',
      "[request id: <id_unknown>] keyword 'parameters' already exists in request",
    ],
  ])("of the body %j is refused", async (body, expected) => {
    const send = await serveInputs();
    const { status, answer } = await send(body);
    expect([status, (answer as { error: string }).error.slice(0, expected.length)]).toEqual([400, expected]);
  });

  it("of an unknown model or version is refused as one to infer", async () => {
    const unknown = await send("/v2/models/other/generate", post("{}"));
    expect([unknown.status, unknown.text]).toEqual([404, expect.stringContaining("unknown model: 'other'")]);
    expect((await send("/v2/models/default/versions/7/generate_stream", post("{}"))).status).toBe(404);
    expect((await send(`${GENERATE}_stream`)).status).toBe(405);
  });

  const send = connectOnce(nothing);

  it("of a model that takes any inputs has all keys but its parameters as inputs", async () => {
    const body = { id: 42, text_input: "héllo", top: [1, 2], flags: [true], x: 1.5, parameters: { max_tokens: 3 } };
    const { status, text: answer } = await send(GENERATE, post(JSON.stringify(body)));
    expect([status, answer]).toEqual([
      200,
      '{"flags":true,"id":"42","model_name":"default","model_version":"1","text_input":"héllo","top":[1,2],"x":1.5}',
    ]);
  });

  it("in the form of one to infer is answered in that form, as by MLServer", async () => {
    const body = { id: "a", inputs: [{ name: "x", datatype: "FP32", shape: [2], data: [1, 2] }] };
    const expected = {
      id: "a",
      model_name: "default",
      model_version: "1",
      outputs: [{ name: "x", datatype: "FP32", shape: [2], data: [1, 2] }],
    };
    expect(JSON.parse((await send(GENERATE, post(JSON.stringify(body)))).text)).toEqual(expected);
    for (const route of ["generate_stream", "infer_stream"]) {
      const { text: events } = await send(`/v2/models/default/versions/1/${route}`, post(JSON.stringify(body)));
      expect(events).toMatch(/^data: \{.*\}\n\n$/);
      expect(JSON.parse(events.slice("data: ".length))).toEqual(expected);
    }
  });

  it("of megabytes is decoded and answered as a small one", async () => {
    const values = Array.from({ length: 300_000 }, (_, index) => index);
    const { text: answer } = await send(GENERATE, post(JSON.stringify({ values })));
    expect(JSON.parse(answer)).toMatchObject({ values });
  });
});

describe("a model that answers once", () => {
  const send = connectOnce(halfPlusTwo);

  it.each([
    [{ x: 1 }, '{"model_name":"default","model_version":"1","y":2.5}'],
    [{ x: [1, 2] }, '{"model_name":"default","model_version":"1","y":[2.5,3.0]}'],
    [{ x: [] }, '{"model_name":"default","model_version":"1","y":[]}'],
    [{ x: 1, id: "" }, '{"model_name":"default","model_version":"1","y":2.5}'],
    [{ x: 1, id: "7" }, '{"id":"7","model_name":"default","model_version":"1","y":2.5}'],
  ])("answers %j on both routes, as one event on that which streams", async (body, expected) => {
    const sent = post(JSON.stringify(body));
    expect((await send(GENERATE, sent)).text).toBe(expected);
    const { text: events, headers } = await send(`${GENERATE}_stream`, sent);
    expect([events, headers.get("content-type")]).toEqual([
      `data: ${expected}\n\n`,
      "text/event-stream; charset=utf-8",
    ]);
  });

  it("answers a binary request to infer_stream as text", async () => {
    const json = JSON.stringify({
      inputs: [{ name: "x", datatype: "FP32", shape: [1], parameters: { binary_data_size: 4 } }],
      outputs: [{ name: "y", parameters: { binary_data: true } }],
    });
    const body = Buffer.concat([Buffer.from(json), floats(1)]);
    const headers = { "Inference-Header-Content-Length": String(json.length) };
    const { text: events } = await send("/v2/models/default/infer_stream", post(body, headers));
    expect(JSON.parse(events.slice("data: ".length)).outputs).toEqual([
      { name: "y", datatype: "FP32", shape: [1], data: [2.5] },
    ]);
  });
});

describe("a model that answers in parts", () => {
  const words = (...parts: Tensors[]) =>
    serveHttp(
      new PartsService(async function* () {
        yield* parts;
      }),
    );

  it.each([[0], [2]])("and gives %i of them is refused by generate in Triton's words", async (count) => {
    const { url } = await words(...new Array<Tensors>(count).fill({ TEXT: text("a") }));
    const response = await fetch(url + GENERATE, { method: "POST", body: "{}" });
    expect([response.status, await response.json()]).toMatchObject([
      501,
      {
        error: expect.stringMatching(
          /^generate expects model to produce exactly 1 response, use generate stream for model/,
        ),
      },
    ]);
  });

  it("and gives one is answered by generate", async () => {
    const { url } = await words({ TEXT: text("a") });
    const response = await fetch(url + GENERATE, { method: "POST", body: '{"id":"1"}' });
    expect(await response.text()).toBe('{"TEXT":"a","id":"1","model_name":"default","model_version":"1"}');
  });

  it("tells its error as an event with the error's status, also in place of the first part", async () => {
    const hooks = {
      inputs: [{ name: "x", dtype: "int32", shape: [1] }],
      async *process({ x }: Tensors) {
        if (x?.data[0] === 1) yield { y: 1 };
        if (x?.data[0] === 2) throw new ServingError("unavailable", "come later");
        throw new Error("broken");
      },
    } satisfies Hooks;
    const { httpUrl } = await startServer({ stages: [{ driver: "null" }], hooks });
    const ask = async (route: string, body: unknown) => {
      const answer = await fetch(httpUrl + route, { method: "POST", body: JSON.stringify(body) });
      const { headers, status } = answer;
      return [status, headers.get("content-type"), headers.get("retry-after"), await answer.text()];
    };
    const events = "text/event-stream; charset=utf-8";
    const broken = 'data: {"error":"The hook process failed: broken"}\n\n';
    expect(await ask(`${GENERATE}_stream`, { x: 0 })).toEqual([500, events, null, broken]);
    const first = 'data: {"model_name":"default","model_version":"1","y":1}\n\n';
    expect(await ask(`${GENERATE}_stream`, { x: 1 })).toEqual([200, events, null, first + broken]);
    expect(await ask(`${GENERATE}_stream`, { x: 2 })).toEqual([503, events, "1", 'data: {"error":"come later"}\n\n']);
    const json = "application/json";
    expect((await ask(`${GENERATE}_stream`, {})).slice(0, 2)).toEqual([400, json]);
    expect((await ask(GENERATE, { x: 0 })).slice(0, 2)).toEqual([500, json]);
    const inputs = [{ name: "x", datatype: "INT32", shape: [1], data: [0] }];
    expect((await ask(`${GENERATE}_stream`, { inputs })).slice(0, 2)).toEqual([500, json]);
  });

  it("gives an event for each, with details as an object", async () => {
    const { url } = await words(
      { text_output: text("a"), details: text('{"token": {"id": 1, "text": "ä"}}') },
      { text_output: text("b"), details: text("none") },
    );
    const reader = await postForParts(`${url}${GENERATE}_stream`, { text_input: "c", parameters: { details: true } });
    const events = (await reader.rest()).map((event) => JSON.parse(event.replace("data: ", "")));
    const model = { model_name: "default", model_version: "1" };
    expect(events).toEqual([
      { ...model, text_output: "a", details: { token: { id: 1, text: "ä" } } },
      { ...model, text_output: "b", details: "none" },
    ]);
  });

  it.each<[DType, Tensors, string]>([
    ["bool", { y: createTensor("bool", [2], Uint8Array.of(1, 0)) }, "[true,false]"],
    ["int64", { y: createTensor("int64", [1, 1], BigInt64Array.of(2n ** 60n)) }, "1152921504606846976"],
    ["float32", { y: createTensor("float32", [2, 2], floats32(1, 2, 3, 4)) }, "[1.0,2.0,3.0,4.0]"],
    ["bytes", { y: createTensor("bytes", [], [Uint8Array.of(255)]) }, '{"b64":"/w=="}'],
  ])("has values of %s without their shape", async (_, outputs, expected) => {
    const { url } = await words(outputs);
    const response = await fetch(url + GENERATE, { method: "POST", body: "{}" });
    expect(await response.text()).toBe(`{"model_name":"default","model_version":"1","y":${expected}}`);
  });
});
