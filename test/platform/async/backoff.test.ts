import { expect, test } from "vitest";
import { Backoff } from "../../../src/platform/async/backoff.ts";

test("each wait is twice the one before, up to the limit, and the first again after a reset", () => {
  const backoff = new Backoff({ firstMs: 20, maxMs: 100 });
  expect(Array.from({ length: 5 }, () => backoff.next())).toEqual([20, 40, 80, 100, 100]);
  backoff.reset();
  expect(backoff.next()).toBe(20);
});
