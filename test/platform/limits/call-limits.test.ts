import { expect, test } from "vitest";
import { CancelSource } from "../../../src/platform/async/cancel-source.ts";
import {
  areCallLimits,
  arrivalLimits,
  hasClientAlone,
  limitsOfCopy,
  limitTime,
} from "../../../src/platform/limits/call-limits.ts";

const NONE = { deadline: undefined, priority: 0, client: 0, queueTimeoutMs: 0, depth: 0, warmUp: undefined };
const SOME = [{ deadline: 5 }, { priority: 1 }, { queueTimeoutMs: 1 }, { depth: 1 }, { warmUp: 0 }, { fromHook: true }];

test.each(SOME)("%j is a limit, beside the defaults of the others and a client's number", (limit) => {
  expect([hasClientAlone(limit), hasClientAlone({ ...NONE, ...limit })]).toEqual([false, false]);
  expect(hasClientAlone({ ...limit, client: 1 })).toBe(false);
});

test("a client's number, and what is by default, are no limits", () => {
  for (const limits of [{}, NONE, { client: 1 }, { ...NONE, client: 1 }]) expect(hasClientAlone(limits)).toBe(true);
});

test("a request has limits from the start if it has a deadline, or a client other than the first", () => {
  expect(arrivalLimits(undefined, 0)).toBeUndefined();
  expect(arrivalLimits(5, 0)).toEqual({ deadline: 5, client: 0 });
  expect(arrivalLimits(undefined, 1)).toEqual({ deadline: undefined, client: 1 });
});

test("a copy has a deadline of its own and no place among clients, and is a call deeper", () => {
  const limits = { deadline: 9, client: 3, priority: 1, queueTimeoutMs: 5, depth: 1, fromHook: true };
  expect(limitsOfCopy(limits, 7)).toEqual({ deadline: 7, depth: 2, fromHook: true });
  expect(limitsOfCopy(undefined, undefined)).toEqual({ depth: 1 });
});

test("limits of another thread are finite numbers, a boolean, or absent", () => {
  for (const limits of [undefined, {}, { ...NONE, deadline: 5, client: -1 }, { fromHook: true }])
    expect(areCallLimits(limits)).toBe(true);
  for (const limits of [null, 1, "1"]) expect(areCallLimits(limits)).toBe(false);
  for (const name of Object.keys({ ...NONE, fromHook: true }))
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, "1", null, {}, 1n])
      expect(areCallLimits({ [name]: value }), name).toBe(false);
  expect(areCallLimits({ fromHook: 1 })).toBe(false);
  expect(areCallLimits({ priority: true })).toBe(false);
});

const aborted = (signal: { addEventListener(event: "abort", listener: () => void): void }) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));

test.each([
  ["there is no timeout", { timeoutMs: 0 }],
  ["the client's deadline is earlier", { timeoutMs: 60_000, limits: { deadline: Date.now() + 1000, client: 1 } }],
])("a limit stays as it is where %s", (_, { timeoutMs, ...limit }) => {
  const signal = new CancelSource();
  const limited = limitTime({ signal, ...limit }, timeoutMs);
  expect(limited.signal).toBe(signal);
  expect(limited.limits).toBe((limit as { limits?: object }).limits);
  limited.clear();
});

test("a limit that is later, or none, becomes the timeout's, and aborts as late when that passes", async () => {
  for (const deadline of [undefined, Date.now() + 60_000]) {
    const { signal, limits, clear } = limitTime({ signal: new CancelSource(), limits: { deadline, client: 1 } }, 20);
    expect(limits?.client).toBe(1);
    expect((limits?.deadline as number) - Date.now()).toBeLessThanOrEqual(20);
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
