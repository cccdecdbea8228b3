import { Agent, request } from "node:http";
import { Client, credentials } from "@grpc/grpc-js";
import sharp from "sharp";
import { encodePredictRequest } from "../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import type { BenchServer } from "../engine/servers.ts";

/** Ways to send an image and get all outputs. */
export const WIRE_NAMES = ["REST JSON", "REST b64", "REST binary", "gRPC"] as const;
/** One of {@link WIRE_NAMES}. */
export type WireName = (typeof WIRE_NAMES)[number];

/** A client of a server with all its connections open. */
interface WireClient {
  /** Sends an image whose bytes are ready; resolves once the whole answer is there. */
  ask(wire: WireName): Promise<void>;
  close(): void;
}

const PREDICT = "/tensorflow.serving.PredictionService/Predict";

/** Makes an image's requests on every wire, and what sends them. */
export async function askWires({ httpPort, grpcPort }: BenchServer, size: number): Promise<WireClient> {
  const pixels = makePixels(size);
  const jpeg = await sharp(pixels, { raw: { width: size, height: size, channels: 3 } })
    .jpeg({ quality: 90 })
    .toBuffer();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const grpc = new Client(`127.0.0.1:${grpcPort}`, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
    "grpc-node.flow_control_window": 16 * 1024 * 1024,
  });
  const message = toPredictRequest(pixels, size);
  const binary = toBinary(pixels, size);
  const json = Buffer.from(JSON.stringify({ inputs: { image: [toRows(pixels, size)] } }));
  const b64 = Buffer.from(JSON.stringify({ inputs: { image: [{ b64: jpeg.toString("base64") }] } }));
  const rest = { agent, port: httpPort, path: "/v1/models/default:predict" };
  const asks: Record<WireName, () => Promise<void>> = {
    "REST JSON": () => post({ ...rest, body: json }),
    "REST b64": () => post({ ...rest, body: b64 }),
    "REST binary": () => post({ ...rest, path: "/v2/models/default/infer", ...binary }),
    gRPC: () => call(grpc, message),
  };
  const close = () => {
    agent.destroy();
    grpc.close();
  };
  return { ask: (wire) => asks[wire](), close };
}

/** Smooth shapes with some noise. */
function makePixels(size: number): Uint8Array {
  return Uint8Array.from({ length: size * size * 3 }, (_, index) => {
    const [x, y] = [Math.floor(index / 3) % size, Math.floor(index / 3 / size)];
    return 128 + 90 * Math.sin(x / 37 + (index % 3)) * Math.cos(y / 53) + ((index * 7919) % 17);
  });
}

function toRows(pixels: Uint8Array, size: number): number[][][] {
  const pixel = (at: number) => Array.from(pixels.subarray(at, at + 3));
  const row = (y: number) => Array.from({ length: size }, (_, x) => pixel((y * size + x) * 3));
  return Array.from({ length: size }, (_, y) => row(y));
}

function toPredictRequest(pixels: Uint8Array, size: number): Buffer {
  const image = createTensor("uint8", [1, size, size, 3], pixels as Uint8Array<ArrayBuffer>);
  const spec = { model: "default", signature: "", versionEncoding: "int64" } as const;
  return encodePredictRequest({ spec, inputs: { image }, outputFilter: [] }, "content");
}

function toBinary(pixels: Uint8Array, size: number) {
  const parameters = { binary_data_size: pixels.length };
  const input = { name: "image", datatype: "UINT8", shape: [1, size, size, 3], parameters };
  const json = Buffer.from(JSON.stringify({ parameters: { binary_data_output: true }, inputs: [input] }));
  return {
    body: Buffer.concat([json, pixels]),
    headers: { "inference-header-content-length": String(json.length) },
  };
}

interface Post {
  readonly agent: Agent;
  readonly port: number;
  readonly path: string;
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

function post({ body, headers = {}, ...target }: Post): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { ...target, method: "POST", headers: { ...headers, "content-length": body.length } },
      (response) => {
        const isGood = response.statusCode === 200;
        const pieces: Buffer[] = [];
        response.on("data", (piece) => isGood || pieces.push(piece));
        response.on("end", () => (isGood ? resolve() : reject(new Error(Buffer.concat(pieces).toString()))));
      },
    );
    sent.on("error", reject).end(body);
  });
}

function call(client: Client, message: Buffer): Promise<void> {
  const asIs = (bytes: Buffer) => bytes;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(PREDICT, asIs, asIs, message, (error) => (error === null ? resolve() : reject(error)));
  });
}
