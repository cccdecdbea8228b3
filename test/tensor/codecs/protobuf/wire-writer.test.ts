import { expect, it } from "vitest";
import {
  bytesField,
  delimited,
  encodeMessage,
  integerField,
  messageField,
  piecesField,
  textElement,
  textField,
} from "../../../../src/tensor/codecs/protobuf/wire-writer.ts";

it("writes each kind of field as protobuf has it", () => {
  const parts = [integerField(1, 150), textField(2, "testing"), bytesField(16, Uint8Array.of(7)), messageField(3, [])];
  expect(encodeMessage(parts).toString("hex")).toBe("089601120774657374696e678201010" + "71a00");
});

it("leaves out what proto3 readers take for absent, and keeps elements and keys", () => {
  expect(encodeMessage([integerField(1, 0), integerField(1, 0n), textField(2, "")])).toHaveLength(0);
  expect([...encodeMessage([textElement(2, ""), bytesField(2, new Uint8Array(0))])]).toEqual([0x12, 0, 0x12, 0]);
});

it.each([
  [1, "0801"],
  [2 ** 31, "088080808008"],
  [2n ** 32n, "088080808010"],
  [2n ** 63n - 1n, "08ffffffffffffffff7f"],
  [-1, "08ffffffffffffffffff01"],
  [2n ** 64n - 1n, "08ffffffffffffffffff01"],
])("writes the integer %s", (value, hex) => {
  expect(encodeMessage([integerField(1, value)]).toString("hex")).toBe(hex);
});

it("counts text in bytes, half a surrogate pair too", () => {
  expect(encodeMessage([textField(1, "ü\ud800")]).toString("hex")).toBe("0a05c3bcefbfbd");
});

it("does not let a part go that writes more or less than it said", () => {
  expect(() => encodeMessage([delimited(1, 3, (_target, position) => position + 2)])).toThrow(
    "A message of 5 bytes was written as 4.",
  );
});

it("refuses a message that is longer than protobuf's readers take, before any of it is written", () => {
  const write = () => {
    throw new Error("it was written");
  };
  const longest = 2 ** 31 - 1;
  expect(() => encodeMessage([messageField(1, [{ size: longest, write }])])).toThrow(
    expect.objectContaining({ code: "resource_exhausted", message: expect.stringContaining(`${longest} at most`) }),
  );
});

it("writes bytes that lie in several places as one field", () => {
  const pieces = [Uint8Array.of(1, 2), new Uint8Array(0), Uint8Array.of(3)];
  expect(encodeMessage([piecesField(1, pieces)]).toString("hex")).toBe("0a03010203");
});
