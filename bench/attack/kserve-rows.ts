import { gzipSync } from "node:zlib";
import { type AttackRow, tally } from "./attack-row.ts";
import { call, METHODS } from "./grpc-attack.ts";
import { post } from "./http-attack.ts";
import { bytesField, repeated, varint, varintField } from "./protobuf.ts";

const PATH = "/v2/models/default/infer";
const MODEL = bytesField(1, "default");

function input(name: string, datatype: string, shape: readonly number[], ...more: Buffer[]): Buffer {
  const sizes = bytesField(3, ...shape.map(varint));
  return bytesField(5, bytesField(1, name), bytesField(2, datatype), sizes, ...more);
}

const parameter = (_: unknown, index: number) =>
  bytesField(4, bytesField(1, `p${index}`), bytesField(2, varintField(2, 1)));
const contents = (...values: Buffer[]) => bytesField(5, ...values);
const raw = (bytes: Buffer) => bytesField(7, bytes);
const infer = (...parts: Buffer[]) => Buffer.concat([MODEL, ...parts]);
const classification = bytesField(
  6,
  bytesField(1, "x"),
  bytesField(2, bytesField(1, "classification"), bytesField(2, varintField(2, 1000))),
);
const noise = (bytes: number) =>
  Buffer.from(Float32Array.from({ length: bytes / 4 }, (_, index) => Math.sin(index)).buffer);

/** ModelInferRequests by what they contain. */
const MESSAGES: Readonly<Record<string, () => Buffer>> = {
  "raw-strings": () => infer(input("x", "BYTES", [3_500_000]), raw(Buffer.alloc(14_000_000))),
  strings: () => infer(input("x", "BYTES", [3_500_000], contents(repeated(bytesField(8), 3_500_000)))),
  raw: () => infer(input("x", "FP32", [15_000_000]), raw(Buffer.alloc(60_000_000))),
  typed: () => infer(input("x", "FP32", [15_000_000], contents(bytesField(6, Buffer.alloc(60_000_000))))),
  integers: () => infer(input("x", "INT64", [30_000_000], contents(bytesField(3, repeated(varint(5), 30_000_000))))),
  "single-integers": () => infer(input("x", "INT32", [4_000_000], contents(repeated(varintField(2, 1), 4_000_000)))),
  booleans: () => infer(input("x", "BOOL", [50_000_000], contents(bytesField(1, repeated(varint(1), 50_000_000))))),
  "raw-booleans": () => infer(input("x", "BOOL", [50_000_000]), raw(Buffer.alloc(50_000_000, 1))),
  classified: () => infer(input("x", "FP32", [2_000_000]), raw(noise(8_000_000)), classification),
  "classified-rows": () => infer(input("x", "FP32", [1_000_000, 2]), raw(noise(8_000_000)), classification),
  parameters: () => infer(repeated(bytesField(4, bytesField(1, "p"), bytesField(2, varintField(2, 1))), 2_000_000)),
  "distinct-parameters": () => infer(Buffer.concat(Array.from({ length: 500_000 }, parameter))),
  inputs: () => infer(Buffer.concat(Array.from({ length: 300_000 }, (_, index) => input(`x${index}`, "FP32", [1])))),
  outputs: () =>
    infer(input("x", "FP32", [1]), raw(Buffer.alloc(4)), repeated(bytesField(6, bytesField(1, "x")), 3_000_000)),
  dimensions: () =>
    infer(bytesField(5, bytesField(1, "x"), bytesField(2, "FP32"), bytesField(3, repeated(varint(1), 30_000_000)))),
  raws: () => infer(input("x", "FP32", [1]), repeated(bytesField(7), 20_000_000)),
  unknown: () => infer(repeated(bytesField(99), 10_000_000)),
};

/** As long as a name may be, of what is longest as JSON. */
const longName = (index: number) => `${index}`.padEnd(4096, "\x01");
const named = (count: number) => {
  const value = contents(bytesField(6, Buffer.alloc(4)));
  return Buffer.concat(Array.from({ length: count }, (_, index) => input(longName(index), "FP32", [1], value)));
};

/** Names of inputs and outputs for hooks that declare none: within the limit of their characters, and beyond it. */
const NAMED: Readonly<Record<string, () => Buffer>> = {
  names: () => infer(named(250)),
  "long-names": () => infer(named(2048)),
  "long-outputs": () =>
    infer(named(1), ...Array.from({ length: 2048 }, (_, index) => bytesField(6, bytesField(1, longName(index))))),
};

/** HTTP bodies of JSON and binary values, by what they contain; `data` follows the JSON. */
const BODIES: Readonly<Record<string, () => { json: object; data: Buffer }>> = {
  "raw-strings": () => ({ json: request("BYTES", [3_500_000], 14_000_000), data: Buffer.alloc(14_000_000) }),
  classified: () => ({ json: classified([2_000_000]), data: noise(8_000_000) }),
  "classified-rows": () => ({ json: classified([1_000_000, 2]), data: noise(8_000_000) }),
  "classified-all": () => ({ json: classified([2_000_000], 2_000_000), data: noise(8_000_000) }),
  "to-json": () => ({ json: { ...request("FP32", [5_000_000], 20_000_000) }, data: noise(20_000_000) }),
  "doubles-to-json": () => ({ json: { ...request("FP64", [3_000_000], 24_000_000) }, data: noise(24_000_000) }),
  "integers-to-json": () => ({ json: request("INT64", [4_000_000], 32_000_000), data: noise(32_000_000) }),
  "bytes-to-json": () => ({ json: request("UINT8", [40_000_000], 40_000_000), data: Buffer.alloc(40_000_000, 200) }),
  "booleans-to-json": () => ({ json: request("BOOL", [30_000_000], 30_000_000), data: Buffer.alloc(30_000_000) }),
  "halves-to-json": () => ({ json: request("FP16", [10_000_000], 20_000_000), data: noise(20_000_000) }),
  "rows-to-json": () => ({ json: request("FP32", [2_000_000, 1], 8_000_000), data: noise(8_000_000) }),
  "text-to-json": () => ({ json: request("BYTES", [1], 60_000_004), data: string(Buffer.alloc(60_000_000, 1)) }),
  "bytes-to-text": () => ({ json: request("BYTES", [1], 60_000_004), data: string(Buffer.alloc(60_000_000, 0xff)) }),
  dimensions: () => ({ json: request("FP32", Array(1_000_000).fill(1), 4), data: Buffer.alloc(4) }),
  raw: () => ({ json: binaryRequest(15_000_000), data: Buffer.alloc(60_000_000) }),
};

/** KServe V2 with other than JSON values, over gRPC and HTTP. */
export const KSERVE_ROWS: readonly AttackRow[] = [
  ...Object.entries(MESSAGES).flatMap(([name, make]) => [
    grpcRow(`v2grpc-${name}`, make, METHODS.infer),
    grpcRow(`v2stream-${name}`, make, METHODS.stream),
  ]),
  ...Object.entries(NAMED).map(([name, make]) => ({
    ...grpcRow(`v2grpc-${name}`, make, METHODS.infer),
    server: "hooks" as const,
  })),
  ...Object.entries(BODIES).map(([name, make]) => httpRow(name, make)),
  compressedAnswerRow(),
  bombRow(),
  streamFloodRow(),
];

function grpcRow(name: string, make: () => Buffer, path: string): AttackRow {
  const prepare = () => {
    const send = { path, message: make() };
    return async (target: Parameters<typeof call>[0]) => ({
      got: tally(await Promise.all([call(target, send), call(target, send)])),
    });
  };
  return { name, server: "null", prepare };
}

function httpRow(name: string, make: () => { json: object; data: Buffer }): AttackRow {
  const prepare = () => {
    const message = toMessage(make());
    return async (target: Parameters<typeof post>[0]) => ({ got: await post(target, message) });
  };
  return { name: `v2binary-${name}`, server: "null", prepare };
}

function toMessage({ json, data }: { json: object; data: Buffer }) {
  const head = Buffer.from(JSON.stringify(json));
  const headers = { "inference-header-content-length": String(head.length) };
  return { path: PATH, body: Buffer.concat([head, data]), headers };
}

/** 100 MB of JSON that the server has to compress. */
function compressedAnswerRow(): AttackRow {
  const prepare = () => {
    const { headers, ...message } = toMessage((BODIES["to-json"] as () => { json: object; data: Buffer })());
    const send = { ...message, headers: { ...headers, "accept-encoding": "gzip" } };
    return async (target: Parameters<typeof post>[0]) => ({ got: await post(target, send) });
  };
  return { name: "v2binary-compressed-answer", server: "null", prepare };
}

/** 250 KB that become 256 MB, eight times. */
function bombRow(): AttackRow {
  const prepare = () => {
    const message = { path: PATH, body: gzipSync(Buffer.alloc(255_000_000)), headers: { "content-encoding": "gzip" } };
    return async (target: Parameters<typeof post>[0]) => ({
      got: tally(await Promise.all(Array.from({ length: 8 }, () => post(target, message)))),
    });
  };
  return { name: "gzip-bomb", server: "null", prepare };
}

/** Tiny requests of one stream, without a look at the answers. */
function streamFloodRow(): AttackRow {
  const prepare = () => {
    const send = { path: METHODS.stream, message: infer(input("x", "FP32", [1]), raw(Buffer.alloc(4))), times: 30_000 };
    return async (target: Parameters<typeof call>[0]) => ({ got: await call(target, send) });
  };
  return { name: "v2stream-flood", server: "null", prepare };
}

function request(datatype: string, shape: readonly number[], bytes: number): object {
  return { inputs: [{ name: "x", datatype, shape, parameters: { binary_data_size: bytes } }] };
}

function binaryRequest(size: number): object {
  return { ...request("FP32", [size], size * 4), parameters: { binary_data_output: true } };
}

function classified(shape: readonly number[], count = 1000): object {
  const bytes = shape.reduce((product, size) => product * size, 4);
  return { ...request("FP32", shape, bytes), outputs: [{ name: "x", parameters: { classification: count } }] };
}

function string(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([length, bytes]);
}
