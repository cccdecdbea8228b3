import { gzipSync } from "node:zlib";
import { type AttackRow, tally } from "./attack-row.ts";
import { call, METHODS } from "./grpc-attack.ts";
import { bytesField, repeated, varint, varintField } from "./protobuf.ts";

const MODEL = bytesField(1, bytesField(1, "default"));
const FLOAT = 1;
const DOUBLE = 2;
const INT32 = 3;
const STRING = 7;
const INT64 = 9;
const BOOL = 10;

/** A TensorProto: its dtype, one dimension, and fields of values. */
function tensor(dtype: number, size: number, ...values: Buffer[]): Buffer {
  return Buffer.concat([varintField(1, dtype), bytesField(2, dimension(size)), ...values]);
}

function dimension(size: number): Buffer {
  return bytesField(2, varintField(1, size));
}

function input(name: string, ...contents: Buffer[]): Buffer {
  return bytesField(2, bytesField(1, name), bytesField(2, ...contents));
}

const predict = (...inputs: Buffer[]) => Buffer.concat([MODEL, ...inputs]);

/** Predict messages by what they contain. */
const MESSAGES: Readonly<Record<string, () => Buffer>> = {
  "empty-strings": () => predict(input("x", tensor(STRING, 3_500_000, repeated(bytesField(8), 3_500_000)))),
  strings: () => predict(input("x", tensor(STRING, 3_500_000, repeated(bytesField(8, "a"), 3_500_000)))),
  "long-strings": () => predict(input("x", tensor(STRING, 60_000, repeated(bytesField(8, "a".repeat(1000)), 60_000)))),
  floats: () => predict(input("x", tensor(FLOAT, 15_000_000, bytesField(5, Buffer.alloc(60_000_000))))),
  "single-floats": () =>
    predict(input("x", tensor(FLOAT, 4_000_000, repeated(Buffer.from([0x2d, 0, 0, 0, 0]), 4_000_000)))),
  "single-integers": () => predict(input("x", tensor(INT32, 4_000_000, repeated(varintField(7, 1), 4_000_000)))),
  doubles: () => predict(input("x", tensor(DOUBLE, 7_500_000, bytesField(6, Buffer.alloc(60_000_000))))),
  integers: () => predict(input("x", tensor(INT32, 30_000_000, bytesField(7, repeated(varint(5), 30_000_000))))),
  "long-integers": () =>
    predict(
      input(
        "x",
        tensor(INT64, 6_000_000, bytesField(10, repeated(Buffer.from("ffffffffffffffffff01", "hex"), 6_000_000))),
      ),
    ),
  booleans: () => predict(input("x", tensor(BOOL, 50_000_000, bytesField(11, repeated(varint(1), 50_000_000))))),
  repeated: () => predict(input("x", tensor(FLOAT, 50_000_000, bytesField(5, Buffer.alloc(4))))),
  content: () => predict(input("x", tensor(FLOAT, 15_000_000, bytesField(4, Buffer.alloc(60_000_000))))),
  "bool-content": () => predict(input("x", tensor(BOOL, 60_000_000, bytesField(4, Buffer.alloc(60_000_000))))),
  "int-content": () => predict(input("x", tensor(INT32, 20_000_000, bytesField(4, Buffer.alloc(80_000_000, 0xff))))),
  dimensions: () => predict(input("x", varintField(1, FLOAT), bytesField(2, repeated(dimension(1), 5_000_000)))),
  "tensor-fields": () => predict(input("x", repeated(varintField(1, FLOAT), 20_000_000))),
  inputs: () =>
    predict(Buffer.concat(Array.from({ length: 500_000 }, (_, index) => input(`x${index}`, varintField(1, FLOAT))))),
  "equal-inputs": () => predict(repeated(input("x", tensor(FLOAT, 1, bytesField(5, Buffer.alloc(4)))), 1_500_000)),
  filter: () =>
    predict(input("x", tensor(FLOAT, 1, bytesField(5, Buffer.alloc(4)))), repeated(bytesField(3, "x"), 5_000_000)),
  unknown: () => predict(repeated(bytesField(99), 10_000_000)),
  models: () => repeated(MODEL, 5_000_000),
  "long-name": () => bytesField(1, bytesField(1, Buffer.alloc(50_000_000, "é"))),
};

/** Predict over gRPC, each message twice at once, and a few compressed. */
export const TENSORFLOW_ROWS: readonly AttackRow[] = [
  ...Object.entries(MESSAGES).map(([name, make]) => row(`tfgrpc-${name}`, make)),
  ...["strings", "floats", "unknown"].map((name) => compressedRow(name, MESSAGES[name] as () => Buffer)),
];

function row(name: string, make: () => Buffer): AttackRow {
  const prepare = () => {
    const send = { path: METHODS.predict, message: make() };
    return async (target: Parameters<typeof call>[0]) => ({
      got: tally(await Promise.all([call(target, send), call(target, send)])),
    });
  };
  return { name, server: "null", prepare };
}

function compressedRow(name: string, make: () => Buffer): AttackRow {
  const prepare = () => {
    const send = {
      path: METHODS.predict,
      message: gzipSync(make()),
      headers: { "grpc-encoding": "gzip" },
      isCompressed: true,
    };
    return async (target: Parameters<typeof call>[0]) => ({
      got: tally(await Promise.all([1, 2, 3, 4].map(() => call(target, send)))),
    });
  };
  return { name: `gzip-tfgrpc-${name}`, server: "null", prepare };
}
