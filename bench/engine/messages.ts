import { request } from "node:http";
import { Client, credentials } from "@grpc/grpc-js";
import { decodePredictResponse, encodePredictRequest } from "../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { PREDICT_PATH } from "../../src/protocols/tensorflow-serving/grpc-service.ts";
import { NO_MODEL_SPEC } from "../../src/protocols/tensorflow-serving/model-spec.ts";
import { createTensor, type Tensors } from "../../src/tensor/tensor.ts";
import { withGrpcPrefix } from "../load/grpc-connection.ts";
import type { LoadTarget } from "../load/load-job.ts";

/** The path of TensorFlow Serving's REST predict for the model that all servers here have. */
const REST_PATH = "/v1/models/default:predict";

/** `count` floats of no special kind. */
export function floats(count: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: count }, (_, index) => ((index * 7919) % 1000) / 999);
}

/** A Predict message with one float32 input `x`. */
export function predictMessage(shape: readonly number[], data: Float32Array): Buffer {
  return predictTensors({ x: createTensor("float32", shape, data) });
}

/** A Predict message with raw tensor content. */
export function predictTensors(inputs: Tensors): Buffer {
  return Buffer.from(encodePredictRequest({ spec: NO_MODEL_SPEC, inputs, outputFilter: [] }, "content"));
}

/**
 * Asks a server once with a real client, lets `check` oracle the outputs, and makes that answer what a load expects.
 */
export async function grpcTarget(
  port: number,
  body: Buffer,
  check: (outputs: Tensors) => boolean,
): Promise<LoadTarget> {
  const answer = await grpcAnswer(port, body);
  const { outputs } = decodePredictResponse(answer, 2 ** 30);
  if (!check(outputs)) throw new Error(`port ${port} did not answer as it should: ${Object.keys(outputs)}`);
  return plainTarget(port, body, answer);
}

/** A target whose answer is known. */
export function plainTarget(port: number, body: Buffer, answer: Buffer): LoadTarget {
  const messages = [{ body, expected: { bytes: withGrpcPrefix(answer) } }];
  return { protocol: "grpc", port, path: PREDICT_PATH, messages };
}

/** The first answer's bytes; rejects unless its status is OK. */
export function grpcAnswer(port: number, message: Buffer, path = PREDICT_PATH): Promise<Buffer> {
  const unlimited = { "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 };
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), unlimited);
  return new Promise<Buffer>((resolve, reject) => {
    client.makeUnaryRequest(path, asIs, asIs, message, (error, answer) => {
      if (error === null) resolve(answer as Buffer);
      else reject(error);
    });
  }).finally(() => client.close());
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

/** The same over HTTP: `check` oracles the parsed JSON. */
export async function httpTarget(
  port: number,
  body: Buffer,
  check: (answer: { readonly [key: string]: unknown }) => boolean,
): Promise<LoadTarget> {
  const bytes = await httpAnswer(port, body);
  if (!check(JSON.parse(bytes.toString()))) throw new Error(`port ${port} did not answer as it should`);
  return { protocol: "http", port, path: REST_PATH, messages: [{ body, expected: { bytes } }] };
}

function httpAnswer(port: number, body: Buffer): Promise<Buffer> {
  const headers = { "content-type": "application/json", "content-length": body.length };
  return new Promise((resolve, reject) => {
    const call = request({ port, path: REST_PATH, method: "POST", headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const answer = Buffer.concat(chunks);
        if (response.statusCode === 200) resolve(answer);
        else reject(new Error(`status ${response.statusCode}: ${answer}`));
      });
    });
    call.on("error", reject);
    call.end(body);
  });
}

/** Checks that there is one output, and that it holds these values. */
export function holds(outputs: Tensors, expected: Float32Array): boolean {
  const [data] = Object.values(outputs).map((tensor) => tensor.data);
  return data instanceof Float32Array && data.length === expected.length && data.every((v, i) => v === expected[i]);
}
