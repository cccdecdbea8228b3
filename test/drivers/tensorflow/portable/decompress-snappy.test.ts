import { expect, it } from "vitest";
import { decompressSnappy } from "../../../../src/drivers/tensorflow/portable/checkpoint-table.ts";

const text = (...bytes: number[]) => Buffer.from(decompressSnappy(Uint8Array.from(bytes))).toString();
const letters = (word: string) => [...Buffer.from(word)];

it.each([
  ["nothing", [0], ""],
  ["a literal", [3, 2 << 2, ...letters("abc")], "abc"],
  ["a literal with a length of one byte", [61, 60 << 2, 60, ...letters("a".repeat(61))], "a".repeat(61)],
  ["a literal with a length of two bytes", [61, 61 << 2, 60, 0, ...letters("a".repeat(61))], "a".repeat(61)],
  ["a copy with an offset of one byte", [9, 2 << 2, ...letters("abc"), ((6 - 4) << 2) | 1, 3], "abcabcabc"],
  ["a copy with an offset of two bytes", [9, 2 << 2, ...letters("abc"), (5 << 2) | 2, 3, 0], "abcabcabc"],
  ["a copy with an offset of four bytes", [9, 2 << 2, ...letters("abc"), (5 << 2) | 3, 3, 0, 0, 0], "abcabcabc"],
  ["a run", [6, 0, ...letters("a"), (4 << 2) | 2, 1, 0], "aaaaaa"],
])("decompresses %s", (_, bytes, expected) => {
  expect(text(...bytes)).toBe(expected);
});

it.each([
  ["no bytes", [], "cut short"],
  ["a literal beyond the end", [3, 2 << 2, 97], "cut short"],
  ["a copy of what was not written", [4, 0, 97, (2 << 2) | 2, 2, 0], "repeats what it does not have"],
  ["a copy from nowhere", [4, 0, 97, (2 << 2) | 2, 0, 0], "repeats what it does not have"],
  ["more than it says", [2, 2 << 2, ...letters("abc")], "longer than it says"],
  ["more than its bytes can stand for", [200, 1, 2 << 2, ...letters("abc")], "claims 200 bytes"],
  ["less than it says", [4, 2 << 2, ...letters("abc")], "shorter than it says"],
  ["a length without end", [0xff, 0xff, 0xff, 0xff, 0xff, 1], "no valid length"],
  ["a length beyond all reason", [0xff, 0xff, 0xff, 0xff, 0x7f], "claims"],
])("refuses %s", (_, bytes, message) => {
  expect(() => text(...bytes)).toThrow(message);
});
