import { expect, test } from "vitest";
import { LeaseCount } from "../../src/serving/lease-count.ts";

test("a version that a thread keeps may be unloaded for a while, and is not replaced", () => {
  const told: boolean[] = [];
  const leases: LeaseCount = new LeaseCount(() => told.push(leases.isHeld));
  leases.keep();
  expect([leases.isIdle, leases.isHeld]).toEqual([true, true]);
  leases.take();
  leases.take();
  expect([leases.isIdle, leases.isHeld]).toEqual([false, true]);
  leases.release();
  expect(told).toEqual([]);
  leases.release();
  leases.letGo();
  expect(told).toEqual([true, false]);
});
