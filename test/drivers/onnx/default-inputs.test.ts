import { beforeAll, expect, it } from "vitest";
import { createServer, type Server } from "../../../src/server/server.ts";
import { connect } from "../../grpc/byte-client.ts";
import { oracle } from "../../grpc/oracle.ts";
import { modelPath } from "./load-onnx.ts";

let server: Server;
beforeAll(async () => {
  server = await createServer({ stages: [{ driver: "onnx", path: modelPath("default-input.onnx") }], http: {} });
  return () => server.close();
});

const V1 = "/v1/models/default:predict";
const V2 = "/v2/models/default/infer";
const x = { name: "x", datatype: "FP32", shape: [2], data: [1, 2] };
const bias = { name: "bias", datatype: "FP32", shape: [], data: [-1] };
const typed = (values: number | number[]) => ({ dtype: 1, data: values });

/** Requests without the input that has a value of its own, and with it. */
it.each<[string, string, object, object]>([
  ["V2", V2, { inputs: [x] }, { inputs: [x, bias] }],
  ["V1, columns", V1, { inputs: { x: [1, 2] } }, { inputs: { x: [1, 2], bias: -1 } }],
  ["Kibernetika", "/predict", { inputs: { x: typed([1, 2]) } }, { inputs: { x: typed([1, 2]), bias: typed(-1) } }],
  ["Simple TensorFlow Serving", "/", { data: { x: [1, 2] } }, { data: { x: [1, 2], bias: -1 } }],
  ["invocations", "/invocations", { inputs: { x: [1, 2] } }, { inputs: { x: [1, 2], bias: -1 } }],
])("an input with a value of its own may be left out or given over %s", async (_what, path, without, with_) => {
  const ask = async (body: object) => {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(server.httpUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
    return (await answer.text()).replaceAll(/\s|\.0\b/g, "");
  };
  expect(await ask(without)).toContain("[101,102]");
  expect(await ask(with_)).toContain("[0,1]");
});

it("rows may leave it out, all of them", async () => {
  const ask = async (instances: unknown[]) => {
    const answer = await fetch(server.httpUrl + V1, { method: "POST", body: JSON.stringify({ instances }) });
    return [answer.status, await answer.text()];
  };
  expect(await ask([{ x: 1 }, { x: 2 }])).toEqual([200, expect.stringMatching(/101\.0, 102\.0/)]);
  expect(await ask([{ x: 1 }, { x: 2, bias: 1 }])).toEqual([400, expect.stringContaining("named input: bias")]);
});

it("TensorFlow Serving's gRPC takes it or leaves it", async () => {
  const client = connect(server.grpcAddress);
  const floats = (values: number[], dim: object[]) => ({
    ...{ dtype: "DT_FLOAT", tensor_shape: { dim }, float_val: values },
  });
  const ask = async (inputs: object) => {
    const request = oracle.encodeRequest({ model_spec: { name: "default" }, inputs });
    const { bytes } = await client.call("/tensorflow.serving.PredictionService/Predict", request);
    return oracle.decodeResponse(bytes as Buffer);
  };
  const one = floats([1], [{ size: 1 }]);
  expect(await ask({ x: one })).toMatchObject({ outputs: { y: { float_val: [101] } } });
  expect(await ask({ x: one, bias: floats([-1], []) })).toMatchObject({ outputs: { y: { float_val: [0] } } });
});

it("metadata has it with its value, and configuration as optional", async () => {
  const get = async (path: string) => (await fetch(server.httpUrl + path)).json();
  const defaults = { bias: { dtype: "DT_FLOAT", float_val: [100] } };
  const signature_def = { signature_def: { serving_default: { defaults } } };
  expect(await get("/v1/models/default/metadata")).toMatchObject({ metadata: { signature_def } });
  expect(await get("/v2/models/default")).toMatchObject({ inputs: [{ name: "x" }, { name: "bias", shape: [] }] });
  expect(await get("/v2/models/default/config")).toMatchObject({
    input: [
      { name: "x", optional: false },
      { name: "bias", optional: true },
    ],
  });
});
