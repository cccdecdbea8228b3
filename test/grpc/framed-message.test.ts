import { expect, it } from "vitest";
import { type FramedMessage, frameBytes, frameParts, PREFIX_BYTES } from "../../src/grpc/framed-message.ts";
import { bytesField, encodeMessage, integerField, messageField } from "../../src/tensor/codecs/protobuf/wire-writer.ts";

const LARGE = [Buffer.alloc(20_000, 1), Buffer.alloc(30_000, 2)] as const;
const PARTS = [
  integerField(1, 5),
  messageField(2, [bytesField(4, LARGE[0]), integerField(5, 6)]),
  bytesField(7, Buffer.alloc(100, 3)),
  bytesField(6, LARGE[1]),
];
const MESSAGE = encodeMessage(PARTS);

function unframe(framed: FramedMessage): Buffer {
  return Buffer.concat(framed).subarray(PREFIX_BYTES);
}

it.each([true, false])("a message of parts says how long it is and is the same, borrowed (%s) or copied", (borrows) => {
  const framed = frameParts(PARTS, borrows);
  expect(Buffer.concat(framed).subarray(0, 5)).toEqual(Buffer.of(0, 0, 0, MESSAGE.length >> 8, MESSAGE.length & 255));
  expect(unframe(framed).equals(MESSAGE)).toBe(true);
});

it("borrows large values alone, and does not copy them", () => {
  const framed = frameParts(PARTS, true);
  expect(framed.filter((piece) => piece === LARGE[0] || piece === LARGE[1])).toHaveLength(2);
  expect(framed).toHaveLength(4);
  expect(frameParts(PARTS, false)).toHaveLength(1);
  expect(frameParts([bytesField(1, Buffer.alloc(100))], true)).toHaveLength(1);
});

it.each([0, 1, 70_000])("a message of %i written bytes is framed too", (length) => {
  const message = Buffer.alloc(length, 9);
  const framed = frameBytes(message);
  expect((framed[0] as Buffer).readUInt32BE(1)).toBe(length);
  expect(unframe(framed).equals(message)).toBe(true);
});

it("does not copy a large message that is written already", () => {
  const message = Buffer.alloc(1_000_000);
  expect(frameBytes(message)[1]).toBe(message);
});
