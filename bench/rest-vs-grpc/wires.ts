import { Agent, request } from "node:http";
import { Client, credentials } from "@grpc/grpc-js";
import sharp from "sharp";
import { decodePredictResponse, encodePredictRequest } from "../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { createTensor, type Tensor } from "../../src/tensor/tensor.ts";
import type { BenchServer } from "../engine/servers.ts";

/** Ways to send an image, as pixels or as a JPEG, and get all outputs. */
export const WIRE_NAMES = ["REST JSON", "REST b64 JPEG", "REST binary", "gRPC", "gRPC JPEG"] as const;
/** One of {@link WIRE_NAMES}. */
export type WireName = (typeof WIRE_NAMES)[number];

/** A client of a server with all its connections open. */
interface WireClient {
  /** Sends an image whose bytes are ready; resolves once the whole answer is there. */
  ask(wire: WireName): Promise<void>;
  /** Does once what a client does beside that, for the image as numbers and the outputs as numbers. */
  work(wire: WireName): Promise<ClientWork>;
  close(): void;
}

/** Milliseconds that a client spends on making a request, and on reading its answer. */
export interface ClientWork {
  readonly composeMs: number;
  readonly readMs: number;
}

/** One way to ask. */
interface Wire {
  /** Makes a request of the image's rows, where it is numbers. */
  compose(rows: number[][][]): Buffer;
  /** Sends a body; the answer is empty where it is not to be kept. */
  send(body: Buffer, isKept: boolean): Promise<Answer>;
  read(answer: Answer): unknown;
}

interface Answer {
  readonly bytes: Buffer;
  /** Bytes of the JSON before binary values. */
  readonly headBytes: number;
}

const PREDICT = "/tensorflow.serving.PredictionService/Predict";

/** A square image, and the outputs that its requests ask for; absent = all. */
interface Asked {
  readonly size: number;
  readonly outputs?: readonly string[] | undefined;
}

/** Makes an image's requests on every wire, and what sends them. */
export async function askWires({ httpPort, grpcPort }: BenchServer, asked: Asked): Promise<WireClient> {
  const { size, outputs } = asked;
  const pixels = makePixels(size);
  const jpeg = await sharp(pixels, { raw: { width: size, height: size, channels: 3 } })
    .jpeg({ quality: 90 })
    .toBuffer();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const grpc = new Client(`127.0.0.1:${grpcPort}`, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
    "grpc-node.flow_control_window": 16 * 1024 * 1024,
  });
  const target = { agent, port: httpPort };
  const rest = { ...target, path: "/v1/models/default:predict" };
  const sendJson: Wire["send"] = (body, isKept) => post({ ...rest, body, isKept });
  const readJson: Wire["read"] = ({ bytes }) => JSON.parse(bytes.toString());
  const toJson = (image: unknown) => Buffer.from(JSON.stringify({ inputs: { image }, output_filter: outputs }));
  const { head, headers } = binaryHead(pixels.length, asked);
  const sendGrpc: Wire["send"] = async (body) => ({ bytes: await call(grpc, body), headBytes: 0 });
  const readGrpc: Wire["read"] = ({ bytes }) => decodePredictResponse(bytes, 2 ** 30);
  const wires: Record<WireName, Wire> = {
    "REST JSON": { compose: (rows) => toJson([rows]), send: sendJson, read: readJson },
    "REST b64 JPEG": { compose: () => toJson([{ b64: jpeg.toString("base64") }]), send: sendJson, read: readJson },
    "REST binary": {
      compose: () => Buffer.concat([head, pixels]),
      send: (body, isKept) => post({ ...target, path: "/v2/models/default/infer", body, headers, isKept }),
      read: readBinary,
    },
    gRPC: {
      compose: () => toPredictRequest(createTensor("uint8", [1, size, size, 3], pixels), asked),
      send: sendGrpc,
      read: readGrpc,
    },
    "gRPC JPEG": {
      compose: () => toPredictRequest(createTensor("bytes", [1], [jpeg]), asked),
      send: sendGrpc,
      read: readGrpc,
    },
  };
  const bodies = composeAll(wires, toRows(pixels, size));
  const close = () => {
    agent.destroy();
    grpc.close();
  };
  return {
    ask: async (wire) => void (await wires[wire].send(bodies[wire], false)),
    work: (wire) => measureWork(wires[wire], toRows(pixels, size)),
    close,
  };
}

/**
 * In a function of its own, so that the rows are gone before anything is measured: V8
 * looks at their lists whenever an answer makes garbage.
 */
function composeAll(wires: Readonly<Record<WireName, Wire>>, rows: number[][][]): Record<WireName, Buffer> {
  const bodies = WIRE_NAMES.map((wire) => [wire, wires[wire].compose(rows)] as const);
  return Object.fromEntries(bodies) as Record<WireName, Buffer>;
}

async function measureWork({ compose, send, read }: Wire, rows: number[][][]): Promise<ClientWork> {
  const started = performance.now();
  const body = compose(rows);
  const composeMs = performance.now() - started;
  const answer = await send(body, true);
  const arrived = performance.now();
  read(answer);
  return { composeMs, readMs: performance.now() - arrived };
}

/** Smooth shapes with some noise. */
function makePixels(size: number): Uint8Array<ArrayBuffer> {
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

function toPredictRequest(image: Tensor, { outputs = [] }: Asked): Buffer {
  const spec = { model: "default", signature: "", versionEncoding: "int64" } as const;
  return encodePredictRequest({ spec, inputs: { image }, outputFilter: outputs }, "content");
}

function binaryHead(bytes: number, { size, outputs }: Asked) {
  const input = {
    name: "image",
    datatype: "UINT8",
    shape: [1, size, size, 3],
    parameters: { binary_data_size: bytes },
  };
  const wanted = outputs?.map((name) => ({ name }));
  const parameters = { binary_data_output: true };
  const head = Buffer.from(JSON.stringify({ parameters, inputs: [input], outputs: wanted }));
  return { head, headers: { "inference-header-content-length": String(head.length) } };
}

/** The outputs' values follow the JSON object, in its order. */
function readBinary({ bytes, headBytes }: Answer): Float32Array[] {
  const { outputs } = JSON.parse(bytes.toString("utf8", 0, headBytes));
  let at = headBytes;
  return outputs.map(({ parameters }: { readonly parameters: { readonly binary_data_size: number } }) => {
    const start = bytes.byteOffset + at;
    at += parameters.binary_data_size;
    return new Float32Array(bytes.buffer.slice(start, bytes.byteOffset + at));
  });
}

interface Post {
  readonly agent: Agent;
  readonly port: number;
  readonly path: string;
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly isKept: boolean;
}

function post({ body, headers = {}, isKept, ...target }: Post): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { ...target, method: "POST", headers: { ...headers, "content-length": body.length } },
      (response) => {
        const isGood = response.statusCode === 200;
        const pieces: Buffer[] = [];
        response.on("data", (piece) => (isGood && !isKept) || pieces.push(piece));
        response.on("end", () => {
          const bytes = Buffer.concat(pieces);
          if (isGood) resolve({ bytes, headBytes: Number(response.headers["inference-header-content-length"] ?? 0) });
          else reject(new Error(bytes.toString()));
        });
      },
    );
    sent.on("error", reject).end(body);
  });
}

function call(client: Client, message: Buffer): Promise<Buffer> {
  const asIs = (bytes: Buffer) => bytes;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(PREDICT, asIs, asIs, message, (error, answer) => {
      if (error === null) resolve(answer as Buffer);
      else reject(error);
    });
  });
}
