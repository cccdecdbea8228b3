import { expect, onTestFinished, test, vi } from "vitest";
import { KnownCredentials, type Verified } from "../../../src/access/authentication/known-credentials.ts";

const ALICE = { names: ["alice"] } as const;
const RIGHT = { identity: ALICE, holds: () => true };

test("many requests with the same credentials cost one check, those after it none", async () => {
  const known = new KnownCredentials();
  const verify = vi.fn(async (): Promise<Verified> => RIGHT);
  const found = await Promise.all(Array.from({ length: 50 }, () => known.identify("Basic a", verify)));
  expect(new Set(found)).toEqual(new Set([RIGHT]));
  expect(known.identify("Basic a", verify)).toBe(RIGHT);
  await known.identify("Basic b", verify);
  expect(verify).toHaveBeenCalledTimes(2);
});

test("those that are used stay, however many others come", async () => {
  const known = new KnownCredentials();
  const verify = vi.fn(async (): Promise<Verified> => RIGHT);
  await known.identify("Basic a", verify);
  for (let other = 0; other < 5000; other++) {
    await known.identify(`Bearer ${other}`, async () => RIGHT);
    if (other % 1000 === 0) expect(known.identify("Basic a", verify)).toBe(RIGHT);
  }
  expect(known.identify("Basic a", verify)).toBe(RIGHT);
  expect(verify).toHaveBeenCalledTimes(1);
});

test("what is wrong is not remembered, nor what is right no longer", async () => {
  const known = new KnownCredentials();
  const verify = vi.fn(async (): Promise<Verified> => ({ ...RIGHT, until: Date.now() - 1 }));
  await known.identify("Bearer old", verify);
  await known.identify("Bearer old", verify);
  expect(verify).toHaveBeenCalledTimes(2);
  const wrong = vi.fn(() => Promise.reject(new Error("wrong")));
  for (let time = 0; time < 2; time++) await expect(known.identify("Basic x", wrong)).rejects.toThrow("wrong");
  expect(wrong).toHaveBeenCalledTimes(2);
});

test("a change costs a check for those alone whom it is about", async () => {
  const known = new KnownCredentials();
  let isBobThere = true;
  const bob = { identity: { names: ["bob"] }, holds: () => isBobThere } as const;
  await known.identify("Basic a", async () => RIGHT);
  await known.identify("Basic b", async () => bob);
  isBobThere = false;
  known.forgetChanged();
  expect(known.identify("Basic a", () => Promise.reject(new Error("asked")))).toBe(RIGHT);
  await expect(known.identify("Basic b", () => Promise.reject(new Error("asked")))).rejects.toThrow("asked");
});

test("a check that began before a change is made again", async () => {
  const known = new KnownCredentials();
  const outcomes = [{ ...RIGHT, holds: () => false }, RIGHT];
  const verify = vi.fn(async (): Promise<Verified> => outcomes.shift() as Verified);
  expect(await known.identify("Basic a", verify)).toBe(RIGHT);
  expect(verify).toHaveBeenCalledTimes(2);
});

test("what was not used for 4096 others is forgotten", async () => {
  const known = new KnownCredentials();
  const verify = vi.fn(async (): Promise<Verified> => RIGHT);
  const remember = async (from: number, to: number) => {
    for (let other = from; other < to; other++) await known.identify(`Bearer ${other}`, async () => RIGHT);
  };
  await known.identify("Basic a", verify);
  await remember(0, 4095);
  expect(known.identify("Basic a", verify)).toBe(RIGHT);
  await remember(5000, 5000 + 4096);
  await known.identify("Basic a", verify);
  expect(verify).toHaveBeenCalledTimes(2);
});

test("what is right until a time is known until then, and no longer", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1000 });
  onTestFinished(() => void vi.useRealTimers());
  const known = new KnownCredentials();
  const right = { ...RIGHT, until: 2000 };
  await known.identify("Bearer a", async () => right);
  vi.setSystemTime(1999);
  expect(known.identify("Bearer a", () => Promise.reject(new Error("asked")))).toBe(right);
  vi.setSystemTime(2000);
  await expect(known.identify("Bearer a", () => Promise.reject(new Error("asked")))).rejects.toThrow("asked");
});
