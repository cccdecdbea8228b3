import { describe, expect, it } from "vitest";
import { decodeStreamResponse, encodeInferRequest, methodPath } from "../../../src/client/remote/infer-message.ts";
import { framedBytes, PREFIX_BYTES } from "../../../src/grpc/framed-message.ts";
import type { MemoryShare } from "../../../src/platform/limits/memory/memory-share.ts";
import type { KserveEncoding } from "../../../src/protocols/kserve/grpc-request.ts";
import { frameStreamResponse, isLargeResponse } from "../../../src/protocols/kserve/grpc-response.ts";
import type { KserveAnswer } from "../../../src/protocols/kserve/kserve-answer.ts";
import { createTensor, type Tensor } from "../../../src/tensor/tensor.ts";
import { connect } from "../../grpc/byte-client.ts";
import { serve } from "../../grpc/scripted-service.ts";
import { PartsService } from "../../proxy/parts-service.ts";

const DATATYPES = { float32: "FP32", int32: "INT32", bytes: "BYTES" } as const;

function answerOf(tensor: Tensor<keyof typeof DATATYPES>): KserveAnswer {
  const outputs = [{ name: "y", datatype: DATATYPES[tensor.dtype], shape: tensor.shape, tensor }];
  return { model: "m", version: 1n, id: "1", outputs, metadata: {} };
}

const FLOATS = createTensor("float32", [1_000_000], new Float32Array(1_000_000).fill(1));
const texts = (count: number, bytes: number) =>
  createTensor(
    "bytes",
    [count],
    Array.from({ length: count }, () => Buffer.alloc(bytes, "a")),
  );
const TWO = texts(2, 3_000_000);

describe("a part of an answer", () => {
  it.each([
    ["numbers", FLOATS, [FLOATS.data]],
    ["elements of bytes", TWO, TWO.data],
  ])("borrows large %s, and is the same as a copy", (_, tensor, borrowed) => {
    const form = { encoding: "raw", tellsEnd: false } as const;
    const [pieces, copy] = [true, false].map((borrows) =>
      frameStreamResponse(answerOf(tensor), form, { isFinal: false, borrows }),
    ) as [Uint8Array[], Uint8Array[]];
    expect(borrowed.every(({ buffer }) => pieces.some((piece) => piece.buffer === buffer))).toBe(true);
    expect(copy).toHaveLength(1);
    expect(Buffer.concat(pieces).equals(copy[0] as Uint8Array)).toBe(true);
    expect((copy[0] as Buffer).readUInt32BE(1)).toBe(framedBytes(copy) - PREFIX_BYTES);
  });

  it.each<[string, Tensor<keyof typeof DATATYPES>, KserveEncoding, boolean]>([
    ["large numbers as they lie in memory", FLOATS, "raw", false],
    ["two large elements", TWO, "raw", false],
    ["two large elements with typed contents", TWO, "typed", true],
    ["small elements that are much together", texts(2000, 1000), "raw", true],
    ["many elements", texts(10_000, 1), "raw", true],
    ["integers that become varints", createTensor("int32", [10_000], new Int32Array(10_000)), "typed", true],
  ])("of %s is written where it delays no one", (_, tensor, encoding, isLarge) => {
    expect(isLargeResponse(answerOf(tensor), encoding)).toBe(isLarge);
  });

  it.each([true, false])(
    "arrives as it was though the next one reuses its memory, borrowed (%s) or not",
    async (isLent) => {
      const values = new Float32Array(1_000_000);
      const service = new PartsService(async function* (_, { memory }) {
        (memory as MemoryShare).isWireOnly = isLent;
        for (let part = 0; part < 5; part++) yield { y: createTensor("float32", [values.length], values.fill(part)) };
      });
      const { address } = await serve(service);
      const message = encodeInferRequest({ model: "m", inputs: { x: createTensor("int32", [1], Int32Array.of(1)) } });
      const parts = connect(address).stream(methodPath("ModelStreamInfer"), message);
      const came: unknown[] = [];
      for (let next = await parts.next(); next.done !== true; next = await parts.next()) {
        const data = decodeStreamResponse(next.value).outputs.y?.data as Float32Array;
        came.push([data.length, ...new Set(data)]);
      }
      expect(came).toEqual([0, 1, 2, 3, 4].map((part) => [values.length, part]));
    },
  );
});
