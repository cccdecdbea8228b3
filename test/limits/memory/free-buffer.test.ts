import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { freeBuffer } from "../../../src/limits/memory/free-buffer.ts";

const BYTES = 100_000_000;
const held = () => process.memoryUsage().arrayBuffers;

it("gives memory back without waiting for a collection of garbage", async () => {
  const before = held();
  const buffer = Buffer.allocUnsafeSlow(BYTES);
  expect(held() - before).toBeGreaterThan(0.9 * BYTES);
  freeBuffer(buffer.buffer);
  expect(buffer).toHaveLength(0);
  await setImmediate();
  await setImmediate();
  expect(held() - before).toBeLessThan(0.1 * BYTES);
});
