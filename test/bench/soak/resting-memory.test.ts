import { expect, test } from "vitest";
import { hasGrown } from "../../../bench/soak/resting-memory.ts";

test("memory that is lost from rest to rest is seen", () => {
  expect(hasGrown([300, 330, 360])).toBe(true);
});

test("memory that comes and goes, or grows by little, has not grown", () => {
  expect(hasGrown([300, 360, 340])).toBe(false);
  expect(hasGrown([300, 300, 315])).toBe(false);
  expect(hasGrown([1000, 1000, 1045])).toBe(false);
});
