import { expect, test } from "vitest";
import { DecodeBudget } from "../../../src/platform/limits/memory/decode-budget.ts";
import { isLargeJson, writeAnswer } from "../../../src/protocols/kserve/http-response.ts";
import { fromRaw, toRaw } from "../../../src/protocols/kserve/raw-tensor.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";

const COUNT = 100_000;
const tensor = createTensor("float32", [COUNT], new Float32Array(COUNT));
const answer = {
  id: "",
  model: "m",
  version: 1n,
  metadata: {},
  outputs: [{ name: "y", datatype: "FP32", shape: tensor.shape, tensor }],
};

test("the JSON before an output that is sent as bytes takes no memory for its numbers", () => {
  const { json, binary } = writeAnswer(answer as never, { isBinary: true, isStrict: false, outputs: [] });
  expect(binary.map(({ byteLength }) => byteLength)).toEqual([4 * COUNT]);
  expect(json.buffer.byteLength).toBeLessThan(COUNT);
});

const BINARY = { isBinary: true, isStrict: false, outputs: [] };

function answerOf(elements: readonly Uint8Array[]) {
  const texts = createTensor("bytes", [elements.length], elements);
  return { ...answer, outputs: [{ name: "y", datatype: "BYTES", shape: texts.shape, tensor: texts }] } as const;
}

function ofLength(length: number): Uint8Array {
  return new Uint8Array(length).fill(length % 251);
}

test("large elements that are sent as bytes are not copied, whatever lies between them", () => {
  const [first, large, middle, larger, last] = [3, 20_000, 0, 70_000, 5].map(ofLength) as [Uint8Array, ...Uint8Array[]];
  for (const elements of [
    [large],
    [first, large],
    [large, last],
    [first, large, middle, larger, last],
    [large, larger],
  ]) {
    const sent = answerOf(elements as Uint8Array[]);
    const { binary } = writeAnswer(sent, BINARY);
    const { tensor: texts } = sent.outputs[0];
    expect(Buffer.concat(binary).equals(toRaw(texts))).toBe(true);
    for (const element of elements as Uint8Array[]) expect(binary.includes(element)).toBe(element.length >= 20_000);
  }
});

test("elements of a length that is sent as bytes are read again as they were", () => {
  const elements = [0, 16_383, 16_384, 16_385, 1].map(ofLength);
  const raw = Buffer.concat(writeAnswer(answerOf(elements), BINARY).binary);
  const head = { name: "y", datatype: "BYTES", shape: [elements.length] };
  const { data } = fromRaw(head, raw, { model: "m", budget: new DecodeBudget(1e6) });
  expect(Array.from(data as readonly Uint8Array[], (element) => Buffer.from(element))).toEqual(
    elements.map((element) => Buffer.from(element)),
  );
});

test("an output of which more than a megabyte would be copied is work for a codec thread", () => {
  const small = ofLength(16_000);
  expect(isLargeJson(answerOf([ofLength(3_000_000), small]), BINARY)).toBe(false);
  expect(isLargeJson(answerOf(Array.from({ length: 70 }, () => small)), BINARY)).toBe(true);
  expect(isLargeJson(answerOf(Array.from({ length: 9000 }, () => small.subarray(0, 1))), BINARY)).toBe(true);
});
