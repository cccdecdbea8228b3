import { expect, it } from "vitest";
import { PoolCalls } from "../../src/native/pool-calls.ts";

it("lets all threads together have so many calls in the pool", () => {
  const memory = new SharedArrayBuffer(4);
  const [one, other] = [new PoolCalls(memory, 2), new PoolCalls(memory, 2)];
  expect([one.tryBegin(), other.tryBegin(), one.tryBegin(), other.tryBegin()]).toEqual([true, true, false, false]);
  other.end();
  expect([one.tryBegin(), other.tryBegin()]).toEqual([true, false]);
});
