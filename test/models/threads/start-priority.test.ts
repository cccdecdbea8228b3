import { getPriority } from "node:os";
import { expect, test } from "vitest";
import { lowerPriority } from "../../../src/models/threads/start-priority.ts";

test("a thread that starts goes behind the others, if it may come back, and comes back", () => {
  const before = getPriority(0);
  const restore = lowerPriority();
  expect(getPriority(0)).toBeGreaterThanOrEqual(before);
  restore();
  expect(getPriority(0)).toBe(before);
});
