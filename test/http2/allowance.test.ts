import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FloodLimits } from "../../src/http2/allowance.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** Counts what a client does until there was too much; returns how often. */
function countUntilEnd(count: () => void): number {
  for (let times = 0; ; times++) {
    try {
      count();
    } catch {
      return times;
    }
  }
}

it("lets a client reset 900 calls at once, however old its connection is, and 33 more each second", () => {
  const limits = new FloodLimits();
  limits.countReset();
  vi.advanceTimersByTime(3_600_000);
  expect(countUntilEnd(() => limits.countReset())).toBe(900);
  vi.advanceTimersByTime(10_000);
  expect(countUntilEnd(() => limits.countReset())).toBeCloseTo(330, -1);
});

it("lets a client reset a call more for each that is answered, up to 10 000 at once", () => {
  const limits = new FloodLimits();
  for (let call = 0; call < 9000; call++) limits.callAnswered();
  vi.advanceTimersByTime(3_600_000);
  expect(countUntilEnd(() => limits.countReset())).toBe(9900);
  for (let call = 0; call < 20_000; call++) limits.callAnswered();
  expect(countUntilEnd(() => limits.countReset())).toBe(10_000);
});

it("lets a client send more frames of no use with each call and frame of data, 1000 at once", () => {
  const limits = new FloodLimits();
  const count = () => limits.countUseless();
  expect(countUntilEnd(count)).toBe(1000);
  // The one that was too much counts too.
  for (let call = 0; call < 10; call++) limits.callBegan();
  for (let frame = 0; frame < 10; frame++) limits.dataSent();
  expect(countUntilEnd(count)).toBe(139);
  for (let call = 0; call < 1000; call++) limits.callBegan();
  expect(countUntilEnd(count)).toBe(1000);
});
