import { expect, test } from "vitest";
import { CancelSource } from "../../src/async/cancel-source.ts";
import { arePlainLimits, hasClientAlone, limitsOf, limitTime, toPlainLimits } from "../../src/limits/call-limits.ts";

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

const aborted = (signal: { addEventListener(event: "abort", listener: () => void): void }) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));

test.each([
  ["there is no timeout", { timeoutMs: 0 }],
  ["the client's deadline is earlier", { timeoutMs: 60_000, deadline: Date.now() + 1000 }],
])("a limit stays as it is where %s", (_, { timeoutMs, ...limit }) => {
  const signal = new CancelSource();
  const limited = limitTime({ signal, ...limit }, timeoutMs);
  expect(limited.signal).toBe(signal);
  expect(limited.deadline).toBe((limit as { deadline?: number }).deadline);
  limited.clear();
});

test("a limit that is later, or none, becomes the timeout's, and aborts as late when that passes", async () => {
  for (const deadline of [undefined, Date.now() + 60_000]) {
    const { signal, deadline: until, clear } = limitTime({ signal: new CancelSource(), deadline }, 20);
    expect((until as number) - Date.now()).toBeLessThanOrEqual(20);
    await aborted(signal);
    expect(signal.reason).toMatchObject({ name: "TimeoutError" });
    clear();
  }
});

test("a limited signal aborts with its parent, also one that has aborted before", () => {
  const parent = new CancelSource();
  const before = limitTime({ signal: parent }, 60_000);
  parent.abort("gone");
  const after = limitTime({ signal: parent }, 60_000);
  for (const { signal, clear } of [before, after]) {
    expect(signal.reason).toBe("gone");
    clear();
  }
});

test("a limit that was cleared is heard of no more", async () => {
  const parent = new CancelSource();
  const { signal, clear } = limitTime({ signal: parent }, 1);
  clear();
  parent.abort("gone");
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(signal.aborted).toBe(false);
});
