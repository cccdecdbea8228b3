import { describe, expect, test } from "vitest";
import { encodePredictRequest } from "../../src/protocols/tensorflow-serving/grpc-codec.ts";
import { PREDICT_PATH } from "../../src/protocols/tensorflow-serving/grpc-service.ts";
import { NO_MODEL_SPEC } from "../../src/protocols/tensorflow-serving/model-spec.ts";
import { BytesBuilder } from "../../src/tensor/byte-ranges.ts";
import { encodeMessage, messageField, textElement } from "../../src/tensor/codecs/protobuf/wire-writer.ts";
import { createTensor, createTensors, type Tensor } from "../../src/tensor/tensor.ts";
import { connect } from "../grpc/byte-client.ts";
import { startNullServer } from "../grpc/start-null-server.ts";

const COUNT = 200_000;
const INFER_PATH = "/inference.GRPCInferenceService/ModelInfer";
const LAST = `text ${COUNT - 1}`;

/** COUNT texts as a tensor, and as the elements of KServe's raw form. */
function texts(): { readonly tensor: Tensor; readonly raw: Buffer } {
  const builder = new BytesBuilder();
  const raw: Buffer[] = [];
  for (let index = 0; index < COUNT; index++) {
    const text = Buffer.from(`text ${index}`);
    builder.append(text);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    raw.push(length, text);
  }
  return { tensor: builder.finish([COUNT]), raw: Buffer.concat(raw) };
}

function predict(tensor: Tensor): Buffer {
  const inputs = createTensors([["x", tensor]]);
  return encodePredictRequest({ spec: NO_MODEL_SPEC, inputs, outputFilter: [] }, "typed");
}

/** A ModelInferRequest whose input has the shape [COUNT]; `contents` are its typed values, `raw` its raw ones. */
function infer(values: { readonly contents?: Buffer; readonly raw?: Buffer }): Buffer {
  const shape = Buffer.from([0x1a, 0x03, 0xc0, 0x9a, 0x0c]);
  const head = encodeMessage([textElement(1, "x"), textElement(2, "BYTES")]);
  const field = (number: number, content: Buffer) => {
    const wrapped = encodeMessage([
      messageField(number, [{ size: content.length, write: (target, at) => at + content.copy(target, at) }]),
    ]);
    return wrapped;
  };
  const input = Buffer.concat([
    head,
    shape,
    values.contents === undefined ? Buffer.alloc(0) : field(5, values.contents),
  ]);
  return Buffer.concat([
    encodeMessage([textElement(1, "default")]),
    field(5, input),
    values.raw === undefined ? Buffer.alloc(0) : field(7, values.raw),
  ]);
}

function typedTexts(): Buffer {
  return encodeMessage(Array.from({ length: COUNT }, (_, index) => textElement(8, `text ${index}`)));
}

const INTEGERS = createTensor(
  "int64",
  [COUNT],
  BigInt64Array.from({ length: COUNT }, (_, index) => BigInt(index)),
);
const LARGE: readonly (readonly [what: string, path: string, message: Buffer, answer: string | number])[] = [
  ["string_val", PREDICT_PATH, predict(texts().tensor), LAST],
  ["int64_val", PREDICT_PATH, predict(INTEGERS), predict(INTEGERS).length],
  ["bytes_contents", INFER_PATH, infer({ contents: typedTexts() }), LAST],
  ["raw_input_contents of BYTES", INFER_PATH, infer({ raw: texts().raw }), LAST],
  ["a shape that repeats its only text", PREDICT_PATH, repeated(), "again"],
];

/** Half a million elements in 30 bytes. */
function repeated(): Buffer {
  const dtype = Buffer.from([0x08, 0x07, 0x12, 0x06, 0x12, 0x04, 0x08, 0xa0, 0xc2, 0x1e]);
  const value = Buffer.concat([dtype, encodeMessage([textElement(8, "again")])]);
  const entry = Buffer.concat([encodeMessage([textElement(1, "x")]), Buffer.from([0x12, value.length]), value]);
  return Buffer.concat([Buffer.from([0x12, entry.length]), entry]);
}

describe("a message", () => {
  test.each(LARGE)("of %s is answered after a small one that came later", async (_, path, message, answer) => {
    const { grpcAddress } = await startNullServer();
    const [client, other] = [connect(grpcAddress), connect(grpcAddress)];
    const small = predict(createTensor("int32", [1], Int32Array.of(1)));
    await other.call(PREDICT_PATH, small);
    const order: string[] = [];
    const large = client.call(path, message).then(({ bytes }) => {
      order.push("large");
      return bytes;
    });
    await other.call(PREDICT_PATH, small);
    order.push("small");
    const bytes = await large;
    if (typeof answer === "string") expect(bytes.includes(answer)).toBe(true);
    else expect(bytes.length).toBeGreaterThanOrEqual(answer);
    expect(order).toEqual(["small", "large"]);
  });
});
