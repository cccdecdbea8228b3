import { describe, expect, it } from "vitest";
import { readExamplesJson } from "../../src/protocols/tensorflow-serving/examples/examples-json.ts";
import { shareServer } from "../helpers/start-server.ts";

const model = "test/fixtures/models/half-plus-two.onnx";
const x = { name: "x", datatype: "FP32", shape: [1], data: [2] };
const V1 = "/v1/models/default:predict";
const V2 = "/v2/models/default/infer";
const REPOSITORY = "/v2/repository";
const KIBERNETIKA = "/predict/default";
const inputs = { x: { dtype: "float32", data: [2] } };
const nothing = { content_type: null, priority: null, timeout: null, signature_name: null, strict_json: null };

/** Requests whose optional members are null, and are answered as those without them. */
const REQUESTS: readonly (readonly [what: string, path: string, plain: object, nulls: object])[] = [
  ["V2: members of the request", V2, { inputs: [x] }, { id: null, parameters: null, outputs: null }],
  ["V2: parameters of the request", V2, { inputs: [x] }, { parameters: nothing }],
  ["V2: parameters of an input", V2, { inputs: [x] }, { inputs: [{ ...x, parameters: null }] }],
  ["V2: those that say where values are", V2, { inputs: [x] }, { inputs: [withNulls(x)] }],
  ["V2: parameters of an output", V2, { inputs: [x] }, { outputs: [{ name: "y", parameters: null }] }],
  ["V2: an output's choices", V2, { inputs: [x] }, { outputs: [{ name: "y", parameters: { binary_data: null } }] }],
  ["V2: index", `${REPOSITORY}/index`, {}, { ready: null }],
  ["V2: load", `${REPOSITORY}/models/default/load`, {}, { parameters: null }],
  ["V2: parameters of a load", `${REPOSITORY}/models/default/load`, {}, { parameters: { config: null } }],
  ["V2: unload", `${REPOSITORY}/models/no/unload`, {}, { parameters: { unload_dependents: null } }],
  ["V2: log settings", "/v2/logging", {}, { log_info: null, log_verbose_level: null }],
  ["V1: choices", V1, { instances: [2] }, { signature_name: null, output_filter: null }],
  ["V1: columns beside rows", V1, { instances: [2] }, { inputs: null }],
  ["V1: rows beside columns", V1, { inputs: [2] }, { instances: null }],
  ["invocations", "/invocations", { instances: [2] }, { signature_name: null }],
  ["Kibernetika", KIBERNETIKA, { inputs }, { out_filter: null, out_mime_type: null }],
  ["Simple TensorFlow Serving", "/", { data: { x: [2] } }, { model_name: null, model_version: null }],
  ["its choices", "/", { data: { x: [2] } }, { signature_name: null, preprocess: null, base64_decode: null }],
];

function withNulls(input: object): object {
  return { ...input, parameters: { binary_data_size: null, shared_memory_region: null, shared_memory_offset: null } };
}

describe("an optional member that is null", () => {
  const serve = shareServer(() => ({ stages: [{ driver: "onnx", path: model }], allowControl: "local" }));

  it.each(REQUESTS)("is as absent in %s", async (_what, path, plain, nulls) => {
    const { httpUrl } = await serve();
    const send = async (body: object) => {
      const headers = { "content-type": "application/json" };
      const answer = await fetch(httpUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
      return { status: answer.status, text: await answer.text() };
    };
    const expected = await send(plain);
    expect(expected.status, expected.text).toBe(path.endsWith("/no/unload") ? 404 : 200);
    expect(await send({ ...plain, ...nulls })).toEqual(expected);
  });

  it("is as absent in V1: the context of examples", () => {
    const read = (body: object) => readExamplesJson(Buffer.from(JSON.stringify(body)), 1024 * 1024);
    const examples = [{ x: 2 }];
    expect(read({ examples, context: null })).toEqual(read({ examples }));
  });

  it("is as absent where the values of an input are bytes behind the JSON", async () => {
    const { httpUrl } = await serve();
    const json = JSON.stringify({ inputs: [{ ...x, data: null, parameters: { binary_data_size: 4 } }] });
    const body = Buffer.concat([Buffer.from(json), Buffer.from(Float32Array.of(2).buffer)]);
    const headers = { "Inference-Header-Content-Length": String(json.length) };
    const answer = await fetch(httpUrl + V2, { method: "POST", body, headers });
    expect(await answer.json()).toMatchObject({ outputs: [{ name: "y", data: [3] }] });
  });

  it.each([
    [V2, { inputs: null }, "Unable to parse 'inputs'"],
    [V2, { inputs: [{ ...x, name: null }] }, "Unable to parse 'name'"],
    [V2, { inputs: [{ ...x, datatype: null }] }, "Unable to parse 'datatype'"],
    [V2, { inputs: [{ ...x, shape: null }] }, "Unable to parse 'shape'"],
    [V2, { inputs: [{ ...x, data: null }] }, "Unable to parse 'data': input 'x' has null; expected a list of values"],
    [V1, { instances: null }, "Missing 'inputs' or 'instances' key"],
    [KIBERNETIKA, { inputs: null }, '\\"inputs\\" is missing'],
  ])("is refused at %s where it is required: %j", async (path, body, text) => {
    const { httpUrl } = await serve();
    const answer = await fetch(httpUrl + path, { method: "POST", body: JSON.stringify(body) });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(text)]);
  });
});
