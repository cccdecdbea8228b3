import { expect, test } from "vitest";
import {
  hashPassword,
  type PasswordHash,
  parsePasswordHash,
} from "../../../src/access/authentication/password-hash.ts";
import { ATTEMPT_MS, ATTEMPTS, Passwords } from "../../../src/access/authentication/passwords.ts";
import { ServingError } from "../../../src/errors.ts";
import { retryDelayMs } from "../../../src/retry-info.ts";
import { CHEAP } from "../auth-fixture.ts";

const usersOf = async (users: Readonly<Record<string, string>>) => {
  const hashes = Object.entries(users).map(async ([name, password]) => {
    return [name, parsePasswordHash(await hashPassword(password, CHEAP))] as const;
  });
  return new Map<string, PasswordHash>(await Promise.all(hashes));
};
const login = (name: string, password: string, address = "10.0.0.1") => ({ name, password, address });

test("a password is right until its hash is another one, and the first file that has a name decides", async () => {
  const files = [await usersOf({ ann: "first", bea: "only" }), await usersOf({ ann: "second", cat: "late" })];
  const passwords = new Passwords(() => files);
  expect(await passwords.verify(login("ann", "second"))).toBeUndefined();
  expect(await passwords.verify(login("dan", "first"))).toBeUndefined();
  const holds = await passwords.verify(login("ann", "first"));
  const late = await passwords.verify(login("cat", "late"));
  expect([holds?.(), late?.()]).toEqual([true, true]);
  files[0] = await usersOf({ ann: "other" });
  expect([holds?.(), late?.()]).toEqual([false, true]);
});

test("where nobody is known, every password is refused", async () => {
  const passwords = new Passwords(() => []);
  expect(await passwords.verify(login("ann", ""))).toBeUndefined();
});

test("a login that was right before is looked at again without a limit, by what the files say now", async () => {
  const files = [await usersOf({ ann: "right" })];
  const passwords = new Passwords(() => files);
  const ann = { name: "ann", password: "right" };
  for (let time = 0; time <= ATTEMPTS; time++)
    expect(await passwords.verifyAgain({ name: "ann", password: "wrong" })).toBeUndefined();
  expect((await passwords.verifyAgain(ann))?.()).toBe(true);
  files[0] = await usersOf({ bea: "right" });
  expect(await passwords.verifyAgain(ann)).toBeUndefined();
  expect(await passwords.verify(login("bea", "right"))).toBeDefined();
});

test("an address that has sent too many wrong ones is told when to try again, and others are not", async () => {
  const users = [await usersOf({ ann: "right" })];
  const passwords = new Passwords(() => users);
  for (let time = 0; time < ATTEMPTS; time++) await passwords.verify(login("ann", "wrong"));
  const refusal = await passwords.verify(login("ann", "right")).catch(ServingError.from);
  expect(refusal).toMatchObject({ code: "resource_exhausted" });
  const waitMs = retryDelayMs((refusal as ServingError).details) ?? 0;
  expect(waitMs).toBeGreaterThan(0);
  expect(waitMs).toBeLessThanOrEqual(ATTEMPT_MS);
  expect(await passwords.verify(login("ann", "right", "10.0.0.2"))).toBeDefined();
});
