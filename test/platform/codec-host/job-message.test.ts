import { MessageChannel, receiveMessageOnPort } from "node:worker_threads";
import { expect, test } from "vitest";
import {
  fromJobMessage,
  type JobMessage,
  type MayTransfer,
  toJobMessage,
} from "../../../src/platform/codec-host/job-message.ts";
import { readFrame } from "../../../src/platform/threads/frame-reader.ts";
import { FrameWriter } from "../../../src/platform/threads/frame-writer.ts";
import { packedOf } from "../../../src/tensor/packed-bytes.ts";
import { isRecord } from "../../../src/tensor/record.ts";
import { createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";

/** The value as it arrives in another thread. */
function moved<Value>(value: Value, mayTransfer: MayTransfer = new Set()): Value {
  const { port1, port2 } = new MessageChannel();
  const { message, transfer } = toJobMessage(value, mayTransfer);
  port1.postMessage(message, transfer);
  const received = receiveMessageOnPort(port2)?.message as JobMessage;
  port1.close();
  return fromJobMessage(received) as Value;
}

test("plain data, Maps, bytes and tensors arrive as they were", () => {
  const value = {
    text: "é",
    none: undefined,
    version: 2n ** 60n,
    list: [1, [null, true]],
    parameters: new Map<string, unknown>([["a", 1n]]),
    body: new Uint8Array([1, 2, 3]),
    inputs: createTensors([
      ["__proto__", createTensor("float32", [2], Float32Array.of(1, 2))],
      ["texts", createTensor("bytes", [2], [Uint8Array.of(97), Uint8Array.of(98, 99)])],
    ]),
  };
  const arrived = moved(value);
  expect(arrived).toEqual(value);
  expect(isRecord(arrived.inputs)).toBe(true);
});

test("thousands of elements arrive packed, and are there when they are read", () => {
  const elements = Array.from({ length: 5000 }, (_, index) => Buffer.from(`element ${index}`));
  const arrived = moved(createTensor("bytes", [5000], elements)) as Tensor<"bytes">;
  expect(packedOf(arrived)?.ranges.length).toBe(10_000);
  expect(arrived.data.map((each) => Buffer.from(each).toString())).toEqual(elements.map(String));
  expect(packedOf(arrived)).toBeUndefined();
});

test("views of one buffer that may be transferred share it there too, and are gone here", () => {
  const buffer = new ArrayBuffer(200_000);
  const views = [new Uint8Array(buffer, 0, 100_000), new Float64Array(buffer, 100_000, 10_000)] as const;
  const [bytes, doubles] = moved(views, new Set([buffer]));
  expect(bytes.buffer).toBe(doubles.buffer);
  expect([bytes.length, doubles.length]).toEqual([100_000, 10_000]);
  expect(buffer.byteLength).toBe(0);
});

test("a frame that other records came in stays, however much of it one of them has", () => {
  const writer = new FrameWriter();
  const parts = Array.from({ length: 20 }, (_, index) =>
    createTensor("float32", [3000], new Float32Array(3000).fill(index)),
  );
  const large = createTensors(parts.map((part, index) => [`y${index}`, part]));
  const small = createTensors([["y", createTensor("float32", [2], Float32Array.of(7, 8))]]);
  writer.write({ kind: 1, id: 1, meta: undefined, tensors: large }, false);
  writer.write({ kind: 1, id: 2, meta: undefined, tensors: small }, false);
  const [one, other] = [...readFrame(writer.take().frame)];
  expect(moved(one?.tensors, "owned")).toEqual(large);
  expect(other?.tensors).toEqual(small);
});

test("a small part of a large buffer is copied, and the buffer stays", () => {
  const buffer = new ArrayBuffer(1_000_000);
  const arrived = moved(new Float32Array(buffer, 400, 100), "owned");
  expect(arrived.buffer.byteLength).toBe(400);
  expect(buffer.byteLength).toBe(1_000_000);
});

test("thousands of small views, each with a buffer of its own, cross in one slab", () => {
  const views = Array.from({ length: 4096 }, (_, index) => Float32Array.of(index, 0.5, -index));
  const { message, transfer } = toJobMessage(views, "owned");
  expect(transfer.length).toBe(1);
  expect(message.views).toEqual(views);
  expect(moved(views, new Set(views.map(({ buffer }) => buffer)))).toEqual(views);
});

test("small views of every kind arrive with their values, and large ones share no slab", () => {
  const small = [Uint8Array.of(1), Float64Array.of(2), Uint16Array.of(3, 4, 5), BigInt64Array.of(-6n)];
  const large = [new Uint8Array(3_000_000).fill(7), new Uint8Array(3_000_000).fill(8)];
  const [, double, , bigint, seven, eight] = moved([...small, ...large]);
  expect([double, bigint]).toEqual([Float64Array.of(2), BigInt64Array.of(-6n)]);
  expect([seven?.[0], eight?.at(-1)]).toEqual([7, 8]);
  expect(seven?.buffer).not.toBe(eight?.buffer);
});
