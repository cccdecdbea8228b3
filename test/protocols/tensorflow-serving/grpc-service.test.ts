import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import type { ServerOptions } from "../../../src/server/server-options.ts";
import { type ByteClient, connect } from "../../grpc/byte-client.ts";
import { oracle, type Plain } from "../../grpc/oracle.ts";
import { startNullServer } from "../../grpc/start-null-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const PREDICT = "/tensorflow.serving.PredictionService/Predict";
const PREDICT_JSON = "/tensorflow.serving.PredictionService/PredictJSON";

const x = { dtype: "DT_INT64", tensor_shape: { dim: [{ size: 2 }] }, int64_val: ["9007199254740993", "-1"] };

async function start(options: Partial<ServerOptions> = {}): Promise<ByteClient> {
  const { grpcAddress } = await startNullServer(options);
  return connect(grpcAddress);
}

async function predict(client: ByteClient, request: Plain): Promise<Plain> {
  return oracle.decodeResponse((await client.call(PREDICT, oracle.encodeRequest(request))).bytes);
}

describe("Predict", () => {
  it("answers an original client, which sends no model_spec, with typed values and what ran", async () => {
    const answer = await predict(await start(), { inputs: { x } });
    expect(answer).toMatchObject({
      outputs: { x: { dtype: "DT_INT64", tensor_shape: { dim: [{ size: "2" }] }, int64_val: x.int64_val } },
      model_spec: { name: "default", version: { value: "1" }, signature_name: "serving_default" },
    });
  });

  it("answers with tensor_content where the server was told to", async () => {
    const answer = await predict(await start({ tensorContent: true }), { inputs: { x } });
    const content = Buffer.from(BigInt64Array.of(9007199254740993n, -1n).buffer);
    expect(answer).toMatchObject({ outputs: { x: { tensor_content: content, int64_val: [] } } });
  });

  it("refuses a request that names no model where the server was told to, as TensorFlow Serving does", async () => {
    const client = await start({ requireModelSpec: true });
    const refused = (details: string) => ({ code: 3, details });
    await expect(predict(client, { inputs: { x } })).rejects.toMatchObject(refused("Missing ModelSpec"));
    const nameless = predict(client, { model_spec: { signature_name: "serving_default" }, inputs: { x } });
    await expect(nameless).rejects.toMatchObject(refused("ModelSpec has no name specified."));
    const empty = predict(client, { model_spec: {}, inputs: { x } });
    await expect(empty).rejects.toMatchObject(refused("ModelSpec has no name specified."));
    expect(await predict(client, { model_spec: { name: "default" }, inputs: { x } })).toHaveProperty("outputs");
  });

  it("gives back a plain version to a client that sent one, and only to that", async () => {
    const client = await start({ name: "m" });
    const plainSpec = Buffer.from([0x0a, 5, 0x0a, 1, 0x6d, 0x10, 1]);
    const { bytes } = await client.call(PREDICT, plainSpec);
    expect(bytes.includes(Buffer.from([0x10, 1, 0x1a]))).toBe(true);
    const message = await predict(client, { model_spec: { name: "m", version: { value: "1" } } });
    expect(message).toMatchObject({ model_spec: { name: "m", version: { value: "1" } } });
  });

  it("returns the outputs of the filter alone", async () => {
    const answer = await predict(await start(), { inputs: { x, y: x }, output_filter: ["y"] });
    expect(Object.keys(answer.outputs as Plain)).toEqual(["y"]);
  });

  it("refuses inputs that the signature does not have, with TensorFlow Serving's text", async () => {
    const hooks: Hooks = { inputs: [{ name: "a", dtype: "int64" }], preprocess: (inputs) => inputs };
    const client = await start({ hooks });
    await expect(predict(client, { inputs: { x, y: x } })).rejects.toMatchObject({
      code: 3,
      details:
        "input size does not match signature: 2!=1 len({x,y}) != len({a}). Sent extra: {x,y}. Missing but required: {a}.",
    });
  });

  it("refuses a tensor that cannot be parsed, saying why", async () => {
    const client = await start();
    const short = { dtype: "DT_FLOAT", tensor_shape: { dim: [{ size: 2 }] }, tensor_content: Buffer.alloc(5) };
    await expect(predict(client, { inputs: { x: short } })).rejects.toMatchObject({
      code: 3,
      details: "tensor parsing error: x: tensor_content has 5 bytes, shape [2] of DT_FLOAT needs 8",
    });
  });
});

describe("a dimension of 2^31 in a tensor without elements", () => {
  const file = () => join(tempFolder({ "hooks.ts": "export const preprocess = (inputs: any) => inputs;" }), "hooks.ts");

  it.each<[string, () => Partial<ServerOptions>]>([
    ["hooks", () => ({ hooks: file() })],
    ["a model's thread", () => ({ stages: [{ path: "test/fixtures/models/any-rank.onnx" }] })],
  ])("is refused, and spoils no later request that goes through %s", async (_, options) => {
    const client = await start(options());
    const shaped = (sizes: number[], values: number[]) => ({
      inputs: { x: { dtype: "DT_FLOAT", tensor_shape: { dim: sizes.map((size) => ({ size })) }, float_val: values } },
    });
    for (let round = 0; round < 40; round++) {
      await expect(predict(client, shaped([2 ** 31, 0], []))).rejects.toMatchObject({ code: 3 });
    }
    expect(await predict(client, shaped([1], [1]))).toHaveProperty("outputs");
  });
});

describe("PredictJSON", () => {
  const json = (text: string) => oracle.encodeJson({ json_string: Buffer.from(text) });

  it("gives hooks the JSON values and answers with JSON", async () => {
    const hooks: Hooks = { postprocess: (values) => ({ ...values, added: { deep: [1, null] } }) as never };
    const { bytes } = await (await start({ hooks })).call(PREDICT_JSON, json('{"text": "ü", "n": 2}'));
    const { json_string } = oracle.decodeJson(bytes);
    expect(JSON.parse(String(json_string))).toEqual({ text: "ü", n: 2, added: { deep: [1, null] } });
  });

  it("refuses an empty body", async () => {
    const client = await start();
    const details = "json_string is empty; expected the text of a JSON object.";
    await expect(client.call(PREDICT_JSON, json(""))).rejects.toMatchObject({ code: 3, details });
    await expect(client.call(PREDICT_JSON, new Uint8Array(0))).rejects.toMatchObject({ code: 3, details });
  });
});
