import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type DescriptorCount, DescriptorReserve } from "../../../src/platform/limits/connection-limit.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** A reserve of a process with so many descriptors, and the number of its counts. */
function reserveOf(count: () => DescriptorCount | undefined) {
  const counted = { times: 0 };
  const reserve = new DescriptorReserve(() => {
    counted.times++;
    return count();
  });
  return { reserve, counted };
}

test("a sixteenth of the descriptors is kept from connections", () => {
  let open = 14;
  const { reserve } = reserveOf(() => ({ open, max: 32 }));
  // Those that have come since the count, which has the first of them.
  expect(Array.from({ length: 18 }, () => reserve.take())).toEqual([...Array(17).fill(undefined), 32]);
  open = 31;
  expect(reserveOf(() => ({ open, max: 33 })).reserve.take()).toBe(33);
  expect(reserveOf(() => ({ open: 30, max: 33 })).reserve.take()).toBeUndefined();
});

test("descriptors are counted for every 64th connection while there are many", () => {
  const { reserve, counted } = reserveOf(() => ({ open: 0, max: 1000 }));
  for (let connection = 0; connection < 65; connection++) reserve.take();
  expect(counted.times).toBe(2);
});

test("a count of more than half of them is believed for a moment", () => {
  const { reserve, counted } = reserveOf(() => ({ open: 50, max: 100 }));
  for (const ms of [50, 1]) {
    reserve.take();
    vi.advanceTimersByTime(ms);
  }
  expect(counted.times).toBe(1);
  reserve.take();
  expect(counted.times).toBe(2);
});

test("where the system does not tell, connections take what there is", () => {
  const { reserve } = reserveOf(() => undefined);
  expect([reserve.take(), reserve.take()]).toEqual([undefined, undefined]);
});
