import { expect, it, test } from "vitest";
import { encodingBytes } from "../../../src/platform/codec-host/encoding-bytes.ts";
import { encodePredictResponse, framePredictResponse } from "../../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { JsonWriter } from "../../../src/tensor/codecs/json/json-writer.ts";
import { writeTensor } from "../../../src/tensor/codecs/json/tensor-json.ts";
import { createTensor, type Tensor } from "../../../src/tensor/tensor.ts";

const LONGEST: readonly Tensor[] = [
  createTensor("bool", [3], Uint8Array.of(0, 0, 0)),
  createTensor("uint8", [1000], new Uint8Array(1000).fill(255)),
  createTensor("int8", [1000, 1, 1], new Int8Array(1000).fill(-128)),
  createTensor("int32", [1000], new Int32Array(1000).fill(-2147483648)),
  createTensor("int64", [1000], new BigInt64Array(1000).fill(-9223372036854775807n)),
  createTensor("float32", [1000], new Float32Array(1000).fill(-1.17549435e-38)),
  createTensor("float64", [1000], new Float64Array(1000).fill(-2.2250738585072014e-308)),
  createTensor("bytes", [2, 1], [Buffer.alloc(1000, 1), Buffer.alloc(1000, "a")]),
  createTensor("float32", [1000, 0], new Float32Array(0)),
];

it.each(LONGEST)("is no less than the text or the message of the longest $dtype $shape", (tensor) => {
  const text = new JsonWriter();
  writeTensor(text, tensor, { separator: ", ", bytes: (writer, bytes) => writer.text(bytes) });
  expect(encodingBytes([{ outputs: { y: tensor } }], "text")).toBeGreaterThanOrEqual(text.length);
  const spec = { model: "", signature: "", versionEncoding: "int64" } as const;
  const message = framePredictResponse({ spec, outputs: { y: tensor } } as never, "typed", false);
  const bytes = message.reduce((sum, piece) => sum + piece.length, 0);
  expect(encodingBytes([{ outputs: { y: tensor } }], "protobuf") + 100).toBeGreaterThanOrEqual(bytes);
  const content = encodePredictResponse({ spec, outputs: { y: tensor } } as never, "content");
  expect(encodingBytes([{ outputs: { y: tensor } }], "content") + 100).toBeGreaterThanOrEqual(content.length);
});

test("counts numbers and labels of results that are no tensors", () => {
  const result = { labels: [Buffer.from("a"), Buffer.from("bc")], scores: Float32Array.of(1, 2) };
  expect(encodingBytes([result], "protobuf")).toBeGreaterThan(encodingBytes([{ scores: result.scores }], "protobuf"));
  expect(encodingBytes([{ name: "a", count: 3 }], "text")).toBe(0);
});

it.each(["a", "\u0001", "\ud800", "語"])("is no less than the JSON and the bytes of a long text of %j", (unit) => {
  const text = unit.repeat(10_000);
  expect(encodingBytes([{ text }], "text")).toBeGreaterThanOrEqual(Buffer.byteLength(JSON.stringify(text)));
  expect(encodingBytes([{ text }], "protobuf")).toBeGreaterThanOrEqual(Buffer.byteLength(text));
});
