import { expect, test } from "vitest";
import { CancelSource } from "../../src/async/cancel-source.ts";
import { arePlainLimits, hasClientAlone, limitsOf, toPlainLimits } from "../../src/limits/call-limits.ts";

const NONE = { deadline: undefined, priority: 0, client: 0, queueTimeoutMs: 0, depth: 0, warmUp: undefined };
const SOME = [{ deadline: 5 }, { priority: 1 }, { queueTimeoutMs: 1 }, { depth: 1 }, { warmUp: 0 }];

test.each(SOME)("%j crosses to another thread with the defaults of the others", (limit) => {
  expect(toPlainLimits(limit)).toEqual({ ...NONE, ...limit });
  expect([hasClientAlone(limit), hasClientAlone({ ...limit, client: 1 })]).toEqual([false, false]);
});

test("no limit crosses where there is none, and a client's number crosses alone", () => {
  for (const limits of [{}, NONE]) expect([toPlainLimits(limits), hasClientAlone(limits)]).toEqual([undefined, true]);
  expect([toPlainLimits({ client: 1 }), hasClientAlone({ client: 1 })]).toEqual([{ ...NONE, client: 1 }, true]);
});

test("limits of another thread are finite numbers or absent", () => {
  expect([arePlainLimits({}), arePlainLimits({ ...NONE, deadline: 5, client: -1 })]).toEqual([true, true]);
  for (const name of Object.keys(NONE))
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, "1", null, {}, 1n])
      expect(arePlainLimits({ [name]: value }), name).toBe(false);
});

test("limits among other members are taken without those", () => {
  const limits = { ...NONE, signal: new CancelSource(), timeline: undefined };
  expect(limitsOf({ ...limits, inputs: {} } as never)).toEqual(limits);
});
