import { expect, test } from "vitest";
import { settlesWithin } from "../../src/platform/async/promises.ts";
import { LeaseCount } from "../../src/serving/lease-count.ts";

test("a version that a thread keeps may be unloaded for a while, and is not replaced", async () => {
  const leases = new LeaseCount();
  leases.keep();
  expect(leases.isIdle).toBe(true);
  leases.take();
  expect(leases.isIdle).toBe(false);
  const idle = leases.idle();
  leases.release();
  expect(await settlesWithin(idle, 20)).toBe(false);
  leases.letGo();
  await idle;
});
