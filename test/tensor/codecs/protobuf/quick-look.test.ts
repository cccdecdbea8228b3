import { describe, expect, it } from "vitest";
import { decodeInferRequestQuickly } from "../../../../src/protocols/kserve/grpc-request.ts";
import { decodeInfer } from "../../../../src/protocols/kserve/http-decode.ts";
import { decodePredictRequestQuickly } from "../../../../src/protocols/tensorflow-serving/grpc-codec.ts";
import {
  bytesField,
  encodeMessage,
  integerField,
  messageField,
  textElement,
} from "../../../../src/tensor/codecs/protobuf/wire-writer.ts";

const MAX_BYTES = 64 * 1024 * 1024;
const MANY = new Uint8Array(1024 * 1024);
/** 300,000 times a dimension of 1. */
const dimensions = Buffer.alloc(1_200_000, Uint8Array.of(0x12, 0x02, 0x08, 0x01));

/** A PredictRequest whose input x has these fields. */
function predict(...fields: Parameters<typeof encodeMessage>[0]): Buffer {
  const key = bytesField(1, Buffer.from("x"));
  return encodeMessage([messageField(2, [key, messageField(2, [integerField(1, 1), ...fields])])]);
}

describe("a large message is for a codec thread", () => {
  it("unless its values can be viewed", () => {
    const shape = messageField(2, [messageField(2, [integerField(1, MANY.length / 4)])]);
    for (const field of [4, 5]) {
      const request = decodePredictRequestQuickly(predict(shape, bytesField(field, MANY)), MAX_BYTES);
      expect(request?.inputs.x?.data.length).toBe(MANY.length / 4);
    }
  });

  it("when it has many dimensions, which are refused only when all were read", () => {
    expect(decodePredictRequestQuickly(predict(bytesField(2, dimensions)), MAX_BYTES)).toBeUndefined();
  });

  it("when its values are varints", () => {
    for (const field of [7, 10, 11, 13, 16, 17]) {
      expect(decodePredictRequestQuickly(predict(bytesField(field, MANY)), MAX_BYTES)).toBeUndefined();
    }
    for (const field of [1, 2, 3, 4, 5]) {
      const input = [bytesField(1, Buffer.from("x")), messageField(5, [bytesField(field, MANY)])];
      expect(decodeInferRequestQuickly(encodeMessage([messageField(5, input)]), MAX_BYTES)).toBeUndefined();
    }
  });

  it("when it has many booleans, each of which is looked at", () => {
    for (const [count, isForThread] of [
      [512 * 1024, false],
      [3 * 512 * 1024, true],
    ] as const) {
      const values = new Uint8Array(count);
      const shape = messageField(2, [messageField(2, [integerField(1, count)])]);
      const content = encodeMessage([
        messageField(2, [textElement(1, "x"), messageField(2, [integerField(1, 10), shape, bytesField(4, values)])]),
      ]);
      expect(decodePredictRequestQuickly(content, MAX_BYTES) === undefined).toBe(isForThread);
      const head = [textElement(1, "x"), textElement(2, "BOOL"), integerField(3, count)];
      const raw = encodeMessage([messageField(5, head), bytesField(7, values)]);
      expect(decodeInferRequestQuickly(raw, MAX_BYTES) === undefined).toBe(isForThread);
      const json = Buffer.from(JSON.stringify({ inputs: [{ name: "x", datatype: "BOOL", shape: [count] }] }));
      const options = { model: "m", version: "1", headerLength: json.length, maxBytes: MAX_BYTES };
      expect(decodeInfer(Buffer.concat([json, values]), options, true) === undefined).toBe(isForThread);
    }
  });
});
