import { deflateSync, gzipSync } from "node:zlib";
import { MessageReader } from "../../src/grpc/message-reader.ts";
import { type Compression, inflate } from "../../src/platform/limits/compression.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { MemoryPool } from "../../src/platform/limits/memory/memory-pool.ts";
import { parseKibernetikaJson } from "../../src/protocols/kibernetika/http-codec.ts";
import { parseKibernetikaForm } from "../../src/protocols/kibernetika/http-multipart.ts";
import { encodePredictRequest, PREDICT_NESTING } from "../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { NO_MODEL_SPEC } from "../../src/protocols/tensorflow-serving/model-spec.ts";
import { createTensor, createTensors } from "../../src/tensor/tensor.ts";
import type { Decoder } from "./decoder.ts";

const MAX_BYTES = 1_000_000;
const BOUNDARY = "limit";
const PARTS: readonly (readonly [header: string, value: string])[] = [
  ['name="float_x"', "1,2.5,nan,-inf"],
  ['name="bool_b"', "true,f"],
  ['name="int64_n"', "9007199254740993"],
  ['name="bytes_i"; filename="a.jpg"\r\nContent-Type: image/jpeg', "\xff\xd8\xff"],
  ['name="uint8_u"; filename="u"', "abc"],
  ['name="out_filter"', "y,z"],
];

/**
 * Decoders that take bodies apart before anything is a tensor: forms, compression, messages in pieces, and the
 * original's JSON.
 */
export function bodyDecoders(): Decoder[] {
  const parts = PARTS.map(
    ([header, value]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${header}\r\n\r\n${value}\r\n`,
  );
  const multipart = Buffer.from(`${parts.join("")}--${BOUNDARY}--\r\n`, "latin1");
  const urlEncoded = Buffer.from("float_x=1%2C2.5&strings_s=%C3%A9&strings_s=b&int8_n=-128&out_mime_type=text%2Fplain");
  const json = '{"inputs": {"x": {"dtype": 1, "data": [[1, null], [3, 4]]}}, "out_filter": ["x"]}';
  const text = Buffer.from(`{"x": "${"a body that is sent compressed ".repeat(20)}"}`);
  const large = createTensors([["x", createTensor("float32", [50_000], new Float32Array(50_000))]]);
  const predict = encodePredictRequest({ spec: NO_MODEL_SPEC, inputs: large, outputFilter: [] }, "content");
  return [
    formDecoder("a multipart form", multipart, `multipart/form-data; boundary=${BOUNDARY}`),
    formDecoder("an encoded form", urlEncoded, "application/x-www-form-urlencoded"),
    {
      name: "the original's JSON",
      route: { path: "/predict" },
      samples: [Buffer.from(json)],
      decode: (bytes) => parseKibernetikaJson(bytes, MAX_BYTES),
    },
    inflateDecoder("gzip", gzipSync(text)),
    inflateDecoder("deflate", deflateSync(text)),
    {
      name: "a gRPC message in pieces",
      route: { method: "/tensorflow.serving.PredictionService/Predict", isFramed: true },
      samples: [Buffer.from("message"), predict].map(framed),
      decode: readPieces,
    },
  ];
}

function formDecoder(name: string, sample: Buffer, type: string): Decoder {
  const decode = (bytes: Buffer) => parseKibernetikaForm(bytes, type, MAX_BYTES);
  return { name, samples: [sample], decode, route: { path: "/predict", headers: { "content-type": type } } };
}

function inflateDecoder(how: Compression, sample: Buffer): Decoder {
  return {
    name: `${how} data`,
    route: { path: "/serving-proxy", headers: { "content-encoding": how } },
    samples: [sample],
    decode: (bytes) => inflate(bytes, how, { maxBytes: MAX_BYTES, memory: new MemoryBudget(MAX_BYTES).open() }),
  };
}

function framed(message: Buffer): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function readPieces(bytes: Buffer): Uint8Array {
  const limits = { maxBytes: MAX_BYTES, memory: new MemoryBudget(MAX_BYTES).open(), pool: new MemoryPool() };
  const reader = new MessageReader({ ...limits, nesting: PREDICT_NESTING });
  const step = bytes.length > 1000 ? 16_384 : 3;
  for (let at = 0; at < bytes.length; at += step) reader.add(bytes.subarray(at, at + step));
  return reader.finish();
}
