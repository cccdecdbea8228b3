import { describe, expect, it } from "vitest";
import { connectKserve } from "../helpers/kserve-grpc.ts";
import { startServer } from "../helpers/start-server.ts";

const MODELS = [{ driver: "onnx", path: "test/fixtures/models/half-plus-two.onnx" }];

/** A server whose model takes float32, and its wires; each sends 2 and 4 as another type. */
async function start(options: Record<string, string>) {
  const { grpcAddress, httpUrl } = await startServer({ stages: MODELS, options });
  const post = async (path: string, body: object) => {
    const response = await fetch(httpUrl + path, { method: "POST", body: JSON.stringify(body) });
    return [response.status, await response.json()];
  };
  const over = (datatype: string, data: unknown[]) =>
    post("/v2/models/default/infer", { inputs: [{ name: "x", shape: [data.length], datatype, data }] });
  const call = connectKserve(grpcAddress);
  const raw = (datatype: string, bytes: Uint8Array) =>
    call("ModelInfer", {
      model_name: "default",
      inputs: [{ name: "x", datatype, shape: [2] }],
      raw_input_contents: [bytes],
    });
  return { post, over, raw };
}

describe("a model of float32 with convert_inputs", () => {
  it("takes other numbers on every wire", async () => {
    const { post, over, raw } = await start({ convert_inputs: "true" });
    for (const datatype of ["UINT8", "INT32", "INT64", "FP64", "FP16"]) {
      expect(await over(datatype, [2, 4])).toMatchObject([200, { outputs: [{ datatype: "FP32", data: [3, 4] }] }]);
    }
    const floats = Buffer.from(Float32Array.of(3, 4).buffer);
    expect(await raw("UINT8", Uint8Array.of(2, 4))).toMatchObject({ raw_output_contents: [floats] });
    const inputs = { x: { dtype: 9, data: [2, 4] } };
    expect(await post("/predict/default/serving_default", { inputs })).toEqual([200, { y: [3, 4] }]);
  });

  it("refuses what is no number", async () => {
    const { over } = await start({ convert_inputs: "true" });
    expect(await over("BYTES", ["2"])).toMatchObject([400, { error: expect.stringContaining("is 'BYTES'") }]);
  });

  it("refuses other numbers without it", async () => {
    const { post, over } = await start({});
    const text = "inference input 'x' data-type is 'INT32', but model 'default' expects 'FP32'";
    expect(await over("INT32", [2, 4])).toMatchObject([400, { error: expect.stringContaining(text) }]);
    const inputs = { x: { dtype: 9, data: [2, 4] } };
    expect((await post("/predict/default/serving_default", { inputs }))[0]).toBe(400);
  });
});

it("refuses a number that an integer input does not hold, naming it", async () => {
  const stages = [{ driver: "onnx", path: "test/fixtures/models/identity-int32.onnx" }];
  const { httpUrl } = await startServer({ stages, options: { convert_inputs: "true" } });
  const send = async (data: number[]) => {
    const { inputs } = JSON.parse(await (await fetch(`${httpUrl}/v2/models/default`)).text());
    const input = { name: inputs[0].name, datatype: "FP64", shape: [data.length], data };
    const body = JSON.stringify({ inputs: [input] });
    const response = await fetch(`${httpUrl}/v2/models/default/infer`, { method: "POST", body });
    return response.json();
  };
  expect(await send([3, -4])).toMatchObject({ outputs: [{ datatype: "INT32", data: [3, -4] }] });
  expect(await send([3, 3.5])).toMatchObject({
    error: expect.stringMatching(/is float64; the model takes int32\. Element 1, 3\.5, cannot become int32/),
  });
});
