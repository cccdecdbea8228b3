import { expect, it } from "vitest";
import { payloadStart } from "../../src/grpc/payload-start.ts";
import {
  bytesField,
  encodeMessage,
  integerField,
  messageField,
  textField,
} from "../../src/tensor/codecs/protobuf/wire-writer.ts";
import { Random } from "./random.ts";
import { raw } from "./raw-part.ts";

const VALUE = Buffer.alloc(5000, 0xee);
const BEFORE = [textField(1, "name"), integerField(3, 300), raw(0x25, 1, 2, 3, 4), raw(0x29, 1, 2, 3, 4, 5, 6, 7, 8)];

it("finds a value that reaches past the first bytes, at the top or inside messages", () => {
  const top = encodeMessage([...BEFORE, bytesField(7, VALUE)]);
  const nested = encodeMessage([
    ...BEFORE,
    messageField(2, [textField(1, "x"), messageField(2, [bytesField(4, VALUE)])]),
  ]);
  for (const message of [top, nested]) {
    expect(payloadStart(message.subarray(0, 200), [2, 2])).toBe(message.indexOf(0xee));
    expect(payloadStart(message.subarray(0, message.indexOf(0xee)), [2, 2])).toBe(message.indexOf(0xee));
  }
});

it("knows no place where the value is all there, or begins later", () => {
  const message = encodeMessage([...BEFORE, bytesField(7, VALUE)]);
  expect(payloadStart(message, [2, 2])).toBeUndefined();
  expect(payloadStart(message.subarray(0, 20), [2, 2])).toBeUndefined();
});

it("takes any bytes", () => {
  const random = new Random(4);
  for (let round = 0; round < 500; round++) {
    const bytes = random.bytes(random.below(40));
    const start = payloadStart(bytes, [2, 2]) ?? 0;
    expect(Number.isSafeInteger(start) && start >= 0).toBe(true);
  }
});
