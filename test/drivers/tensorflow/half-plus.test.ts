import { beforeAll, describe, expect, it } from "vitest";
import { createServer, type Server } from "../../../src/server/server.ts";
import { connect } from "../../grpc/byte-client.ts";
import { oracle, type Plain } from "../../grpc/oracle.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { tensorflowRuntime } from "./native/tensorflow-runtime.ts";
import { readCases, tensorflowModel } from "./tensorflow-cases.ts";

const missing = await missingRuntime("TensorFlow Serving's first request", tensorflowRuntime);
const ENGINES = missing === undefined ? ["native", "portable"] : ["portable"];

/** A server for the tests around it, with a model of test/fixtures/tensorflow. */
function serve(model: string, engine: string): () => { readonly httpUrl: string; readonly grpcAddress: string } {
  let server: Server;
  beforeAll(async () => {
    const lib = engine === "native" ? await tensorflowRuntime() : undefined;
    const options = { engine, ...(lib !== undefined && { tensorflow_lib: lib }), ...readCases(model)[0]?.options };
    const stages = [{ driver: "tensorflow", path: tensorflowModel(model), options }];
    server = await createServer({ stages, http: {} });
    return () => server.close();
  });
  return () => ({ httpUrl: server.httpUrl as string, grpcAddress: server.grpcAddress });
}

async function post(url: string, path: string, body: unknown) {
  const response = await fetch(url + path, { method: "POST", body: JSON.stringify(body) });
  return { status: response.status, answer: (await response.json()) as Record<string, unknown> };
}

const PREDICT = "/v1/models/default:predict";

function floats(shape: readonly number[], values: readonly number[]): Plain {
  return { dtype: "DT_FLOAT", tensor_shape: { dim: shape.map((size) => ({ size })) }, float_val: values };
}

async function predict(address: string, x: Plain): Promise<unknown> {
  const client = await connect(address);
  const bytes = oracle.encodeRequest({ inputs: { x } });
  const { bytes: answer } = await client.call("/tensorflow.serving.PredictionService/Predict", bytes);
  return (oracle.decodeResponse(answer).outputs as Plain).y;
}

describe.each(ENGINES)("half_plus_two, whose signature says [-1,1], on the %s engine", (engine) => {
  const half = serve("half_plus_two", engine);

  it("answers the tutorial's request and its like over REST", async () => {
    const { httpUrl } = half();
    for (const [body, answer] of [
      [{ instances: [1.0, 2.0, 5.0] }, { predictions: [2.5, 3.0, 4.5] }],
      [{ instances: [[1.0], [2.0]] }, { predictions: [[2.5], [3.0]] }],
      [{ inputs: 1.0 }, { outputs: 2.5 }],
      [{ signature_name: "any_shape", inputs: [[[1.0]]] }, { outputs: [[[2.5]]] }],
    ]) {
      expect(await post(httpUrl, PREDICT, body)).toEqual({ status: 200, answer });
    }
  });

  it("answers other shapes over gRPC", async () => {
    const { grpcAddress } = half();
    expect(await predict(grpcAddress, floats([3], [1, 2, 5]))).toMatchObject({ float_val: [2.5, 3, 4.5] });
    expect(await predict(grpcAddress, floats([], [1]))).toMatchObject({ tensor_shape: { dim: [] }, float_val: [2.5] });
  });

  it("refuses other shapes over V2, as Triton does", async () => {
    const { httpUrl } = half();
    const x = { name: "x", datatype: "FP32", data: [1, 2, 5] };
    const url = "/v2/models/default/infer";
    expect(await post(httpUrl, url, { inputs: [{ ...x, shape: [3] }] })).toMatchObject({
      status: 400,
      answer: { error: expect.stringContaining("unexpected shape for input 'x'") },
    });
    const outputs = [{ name: "y", shape: [3, 1], data: [2.5, 3, 4.5] }];
    expect(await post(httpUrl, url, { inputs: [{ ...x, shape: [3, 1] }] })).toMatchObject({ answer: { outputs } });
  });

  it("refuses names and dtypes that the signature does not have", async () => {
    const { httpUrl, grpcAddress } = half();
    expect(await post(httpUrl, PREDICT, { inputs: { y: [1] } })).toMatchObject({ status: 400 });
    const integers = { dtype: "DT_INT32", tensor_shape: { dim: [{ size: 1 }] }, int_val: [1] };
    await expect(predict(grpcAddress, integers)).rejects.toMatchObject({ code: 3 });
  });
});

describe.each(ENGINES)("half_plus_three, saved by TensorFlow 1.0, on the %s engine", (engine) => {
  const half = serve("half_plus_three", engine);

  it("answers any shape", async () => {
    const { httpUrl, grpcAddress } = half();
    const predictions = [3.5, 4, 5.5];
    expect(await post(httpUrl, PREDICT, { instances: [1, 2, 5] })).toEqual({ status: 200, answer: { predictions } });
    expect(await predict(grpcAddress, floats([1, 1, 1], [1]))).toMatchObject({ float_val: [3.5] });
  });

  it("takes examples for an input that its signature calls numbers", async () => {
    const { httpUrl } = half();
    const request = { signature_name: "tensorflow/serving/regress", examples: [{ x: 1.5 }, { x: 0.5 }] };
    const answer = { results: [3.75, 3.25] };
    expect(await post(httpUrl, "/v1/models/default:regress", request)).toEqual({ status: 200, answer });
  });
});

describe.each(ENGINES)("a shape that the graph cannot compute with, on the %s engine", (engine) => {
  const multiplying = serve("tensorflow_1", engine);
  const looping = serve("control_flow", engine);

  it("is the client's fault on both wires", async () => {
    const { httpUrl, grpcAddress } = multiplying();
    expect(await post(httpUrl, PREDICT, { inputs: [[1, 2, 3]] })).toMatchObject({ status: 400 });
    await expect(predict(grpcAddress, floats([1, 3], [1, 2, 3]))).rejects.toMatchObject({ code: 3 });
  });

  it("does not make a loop endless", async () => {
    const { httpUrl } = looping();
    expect(await post(httpUrl, PREDICT, { inputs: { x: [1, 2], n: [3] } })).toMatchObject({ status: 400 });
  });
});
