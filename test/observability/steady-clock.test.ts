import { expect, onTestFinished, test, vi } from "vitest";
import { steadyMs, toEpochMs } from "../../src/observability/steady-clock.ts";

test("a time is not before the one at which another program read the clock, and follows a clock that is set", () => {
  const clock = vi.spyOn(Date, "now");
  onTestFinished(() => clock.mockRestore());
  const time = (cut: number) => performance.timeOrigin + performance.now() - cut;
  /** The smallest of some errors: another process may get its turn between two readings of a clock. */
  const error = (cut: number, set = 0) => {
    clock.mockImplementation(() => time(cut) + set);
    const errors = Array.from({ length: 20 }, () => Math.abs(toEpochMs(steadyMs()) - time(0) - set));
    return Math.min(...errors);
  };
  expect(error(0)).toBeLessThan(0.2);
  expect(error(0.9)).toBeLessThan(0.2);
  expect(error(0.9, -5000)).toBeLessThan(1.2);
  expect(error(0, -5000)).toBeLessThan(0.2);
});
