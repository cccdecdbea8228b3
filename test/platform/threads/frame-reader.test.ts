import { describe, expect, test } from "vitest";
import { readFrame } from "../../../src/platform/threads/frame-reader.ts";
import { FrameWriter } from "../../../src/platform/threads/frame-writer.ts";
import { MalformedMessage } from "../../../src/platform/threads/host-port.ts";
import { createTensor, createTensors } from "../../../src/tensor/tensor.ts";

/** A frame as a thread writes it, in its parts: numbers, text, an own buffer. */
function writtenFrame(): ArrayBuffer[] {
  const writer = new FrameWriter();
  const tensors = createTensors([
    ["small", createTensor("float64", [1, 2], Float64Array.of(1, 2))],
    ["texts", createTensor("bytes", [2], [Buffer.from("ab"), Buffer.from("c")])],
    ["large", createTensor("uint8", [20_000], new Uint8Array(20_000))],
  ]);
  writer.write({ kind: 3, id: 1, meta: { a: [1] }, tensors }, false);
  return writer.take().frame as unknown as ArrayBuffer[];
}

const read = (message: unknown) => [...readFrame(message)];
/** A frame of these integers. */
const integers = (...values: number[]) => Int32Array.from(values).buffer;

test("a written frame is read as it was", () => {
  const [record] = read(writtenFrame());
  expect(record).toMatchObject({ kind: 3, id: 1, meta: { a: [1] } });
  expect(Object.values(record?.tensors ?? {}).map(({ shape }) => shape)).toEqual([[1, 2], [2], [20_000]]);
});

describe("a message that no channel writes is malformed:", () => {
  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["a text", "x".repeat(100)],
    ["an object with a log's name", { log: 1 }],
    ["an empty list", []],
    ["a sparse list of 2^32 - 1", new Array(2 ** 32 - 1)],
    ["a list that is sparse behind a frame", Object.assign([integers(0, 8)], { length: 2 ** 31 })],
    ["shared memory", new SharedArrayBuffer(64)],
    ["a frame beside shared memory", [integers(0, 8), new SharedArrayBuffer(64)]],
    ["a typed array", new Int32Array(2)],
    ["an empty buffer", new ArrayBuffer(0)],
    ["a buffer of an odd size", new ArrayBuffer(13)],
    ["fewer records than none", integers(-1, 8)],
    ["2^30 records", integers(2 ** 30, 8)],
    ["a record without tensors that it claims", integers(1, 24, 3, 1, 0, 1)],
    ["2^31 - 1 tensors", integers(1, 24, 3, 1, 0, 2 ** 31 - 1)],
    ["plain data beyond its end", integers(1, 24, 3, 1, 2 ** 31 - 1, 0)],
    ["plain data of a negative size", integers(1, 24, 3, 1, -8, 0)],
    ["plain data that is not JSON", integers(1, 28, 3, 1, 4, 0, 0x7b7b7b7b, 0)],
    ["a buffer that no tensor uses", [...writtenFrame(), new ArrayBuffer(8)]],
    ["a buffer that is missing", writtenFrame().slice(0, 1)],
    ["a buffer that is too small", [writtenFrame()[0], new ArrayBuffer(8)]],
  ])("%s", (_, message) => {
    expect(() => read(message)).toThrow(MalformedMessage);
  });
});

test("whatever integer of a frame is replaced, it is read within its bounds or found malformed", () => {
  const [frame, ...buffers] = writtenFrame() as [ArrayBuffer, ...ArrayBuffer[]];
  let malformed = 0;
  for (let index = 0; index < frame.byteLength / 4; index++) {
    for (const value of [-1, -(2 ** 31), 0, 1, 255, 4096, 2 ** 20, 2 ** 30, 2 ** 31 - 1]) {
      const changed = frame.slice(0);
      new Int32Array(changed)[index] = value;
      try {
        for (const { tensors = {} } of readFrame([changed, ...buffers])) Object.values(tensors);
      } catch (reason) {
        expect(reason).toBeInstanceOf(MalformedMessage);
        malformed++;
      }
    }
  }
  expect(malformed).toBeGreaterThan(100);
});
