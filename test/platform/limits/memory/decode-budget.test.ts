import { expect, test } from "vitest";
import { DecodeBudget } from "../../../../src/platform/limits/memory/decode-budget.ts";

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
});
