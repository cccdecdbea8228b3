import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { answerVectors } from "../../../src/protocols/text/answer-vectors.ts";
import type { HttpExchange } from "../../../src/proxy/http-exchange.ts";
import type { InferenceService, InferRequest, Lease } from "../../../src/serving/inference-service.ts";
import { packedOf } from "../../../src/tensor/packed-bytes.ts";
import { createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";

const MANY = 32 * 1024 * 1024;

/** A service whose only model takes so many texts at a time, and what that was sent. */
function serve(maxRequestRows: number) {
  const sent: Tensor<"bytes">[] = [];
  const spec = {
    inputs: [{ name: "x", dtype: "bytes", shape: [-1] }],
    outputs: [{ name: "y", dtype: "float32", shape: [-1, 1] }],
  };
  const lease = {
    description: { model: "m", signatures: { serving_default: spec }, configured: { maxRequestRows } },
    infer: async ({ inputs }: InferRequest) => {
      const x = inputs.kind === "tensors" && inputs.tensors.x;
      if (x === false || x?.dtype !== "bytes") throw new Error("expected texts");
      sent.push(x);
      const y = createTensor("float32", [x.data.length, 1], new Float32Array(x.data.length));
      return { outputs: { kind: "tensors", tensors: createTensors([["y", y]]) }, metadata: {} };
    },
    release: () => {},
  };
  return { sent, service: { acquire: async () => lease as unknown as Lease } as unknown as InferenceService };
}

function embed(service: InferenceService, texts: Tensor<"bytes">) {
  const exchange = { record: {}, callInfo: () => ({}) } as unknown as HttpExchange;
  const wish = { model: "m", request: new Uint8Array(), texts, isBase64: false, dimensions: undefined };
  return answerVectors(exchange, service, {
    ...wish,
    frameOf: () => ({ texts: ["[", "],", ""] }),
  } as unknown as Parameters<typeof answerVectors>[2]);
}

test("a large text of several is copied in turns with other work, for a model that takes one at a time", async () => {
  const block = new Uint8Array(2 * MANY).fill(7);
  const texts = createTensor("bytes", [2], [block.subarray(0, MANY), block.subarray(MANY)]);
  const { sent, service } = serve(1);
  const answer = embed(service, texts);
  for (let turn = 0; turn < 4; turn++) await nextTurn();
  expect(sent.length).toBe(0);
  while (sent.length === 0) await nextTurn();
  for (let turn = 0; turn < 4; turn++) await nextTurn();
  expect(sent.length).toBe(1);
  await answer;
  const blocks = sent.map((x) => x.data.map((text) => ({ equals: Buffer.compare(text, block.subarray(MANY)) })));
  expect(blocks).toEqual([[{ equals: 0 }], [{ equals: 0 }]]);
  const memory = new Set([block, ...sent.flatMap(({ data }) => data)].map(({ buffer }) => buffer));
  expect(memory.size).toBe(3);
});

test("texts of a run have memory of their own", async () => {
  const all = Buffer.from("onetwothree");
  const texts = createTensor("bytes", [3], [all.subarray(0, 3), all.subarray(3, 6), all.subarray(6)]);
  const { sent, service } = serve(2);
  await embed(service, texts);
  expect(sent.map(({ data }) => data.map((text) => Buffer.from(text).toString()))).toEqual([["one", "two"], ["three"]]);
  expect(new Set([all, ...sent.map((x) => packedOf(x)?.content ?? x.data[0]!)].map(({ buffer }) => buffer)).size).toBe(
    3,
  );
});
