import { expect, test } from "vitest";
import { LogLimit } from "../../src/observability/log-limit.ts";

test("what is written at usual speed is taken, a flood is told once and counted, and then there is room again", () => {
  const limit = new LogLimit();
  const told: string[] = [];
  const take = () => limit.takes(1000, (text) => told.push(text));
  const taken = Array.from({ length: 10_000 }, take).filter(Boolean).length;
  expect(taken).toBeGreaterThan(300);
  expect(told).toEqual(["more than 2 MB/s are written to the log; the rest is left out"]);
  expect(taken).toBeLessThan(10_000);
});
