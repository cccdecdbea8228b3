import { expect, test, vi } from "vitest";
import { KnownCredentials, type Verified } from "../../../src/access/authentication/known-credentials.ts";

const ALICE = { names: ["alice"] } as const;

test("many requests with the same credentials cost one check, those after it none", async () => {
  const known = new KnownCredentials();
  const verify = vi.fn(async (): Promise<Verified> => ({ identity: ALICE }));
  const found = await Promise.all(Array.from({ length: 50 }, () => known.identify("Basic a", verify)));
  expect(new Set(found)).toEqual(new Set([ALICE]));
  expect(known.identify("Basic a", verify)).toBe(ALICE);
  await known.identify("Basic b", verify);
  expect(verify).toHaveBeenCalledTimes(2);
});

test("those that are used stay, however many others come", async () => {
  const known = new KnownCredentials();
  const verify = vi.fn(async (): Promise<Verified> => ({ identity: ALICE }));
  await known.identify("Basic a", verify);
  for (let other = 0; other < 5000; other++) {
    await known.identify(`Bearer ${other}`, async () => ({ identity: ALICE }));
    if (other % 1000 === 0) expect(known.identify("Basic a", verify)).toBe(ALICE);
  }
  expect(known.identify("Basic a", verify)).toBe(ALICE);
  expect(verify).toHaveBeenCalledTimes(1);
});

test("what is wrong is not remembered, nor what is right no longer", async () => {
  const known = new KnownCredentials();
  const verify = vi.fn(async (): Promise<Verified> => ({ identity: ALICE, until: Date.now() - 1 }));
  await known.identify("Bearer old", verify);
  await known.identify("Bearer old", verify);
  expect(verify).toHaveBeenCalledTimes(2);
  const wrong = vi.fn(() => Promise.reject(new Error("wrong")));
  for (let time = 0; time < 2; time++) await expect(known.identify("Basic x", wrong)).rejects.toThrow("wrong");
  expect(wrong).toHaveBeenCalledTimes(2);
});

test("a check that began before everything was forgotten is not remembered", async () => {
  const known = new KnownCredentials();
  let settle: (verified: Verified) => void = () => {};
  const first = known.identify("Basic a", () => new Promise((resolve) => (settle = resolve)));
  known.forget();
  settle({ identity: ALICE });
  await first;
  const again = vi.fn(async (): Promise<Verified> => ({ identity: ALICE }));
  await known.identify("Basic a", again);
  expect(again).toHaveBeenCalled();
});
