import { expect, test } from "vitest";
import { DecodeBudget, decodeQuickly } from "../../../../src/platform/limits/memory/decode-budget.ts";

test("bytes are spent until none are left, and then named with what needs them", () => {
  const budget = new DecodeBudget(100);
  budget.spend(60, () => "a");
  budget.spend(40, () => "b");
  expect(() => budget.spend(1, () => "shape [1]")).toThrow(
    expect.objectContaining({
      code: "invalid_argument",
      message:
        "shape [1] takes 1 bytes in memory, 0 of 100 are left for this message; send less, or raise --max-message-bytes",
    }),
  );
});

test("2048 inputs are taken, however they are counted, and no more", () => {
  const budget = new DecodeBudget(0);
  budget.countInputs(2047);
  budget.countInputs(1);
  expect(() => budget.countInputs(1)).toThrow(
    expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining("more than 2048 inputs") }),
  );
  budget.countOutputs(2048);
  expect(() => budget.countOutputs(1)).toThrow("more than 2048 outputs");
});

test("a message is decoded at once up to a megabyte, and else left to another thread", () => {
  const MEGABYTE = 1024 * 1024;
  const decode = (bytes: number) => (budget: DecodeBudget) => {
    budget.spend(MEGABYTE, () => "a");
    budget.spend(bytes, () => "b");
    return budget.leftBytes;
  };
  expect(decodeQuickly(2 * MEGABYTE, decode(0))).toBe(MEGABYTE);
  expect(decodeQuickly(2 * MEGABYTE, decode(1))).toBeUndefined();
  expect(() => decodeQuickly(MEGABYTE, decode(1))).toThrow("b takes 1 bytes in memory, 0 of 1048576 are left");
});
