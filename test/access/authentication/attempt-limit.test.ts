import { expect, test } from "vitest";
import { ATTEMPT_MS, ATTEMPTS, AttemptLimit } from "../../../src/access/authentication/passwords.ts";

test("an address has so many attempts at once, then one every few seconds", () => {
  const limit = new AttemptLimit();
  for (let count = 0; count < ATTEMPTS; count++) expect(limit.take("10.0.0.1", 1000)).toBe(0);
  expect(limit.take("10.0.0.1", 1000)).toBe(ATTEMPT_MS);
  expect(limit.take("10.0.0.1", 1000 + ATTEMPT_MS / 2)).toBe(ATTEMPT_MS / 2);
  expect(limit.take("10.0.0.2", 2000)).toBe(0);
  expect(limit.take("10.0.0.1", 1001 + ATTEMPT_MS)).toBe(0);
});

test("what was right does not count", () => {
  const limit = new AttemptLimit();
  for (let count = 0; count < 3 * ATTEMPTS; count++) {
    expect(limit.take("10.0.0.1", 0)).toBe(0);
    limit.giveBack("10.0.0.1");
  }
});

test("no more addresses are remembered than there is room for", () => {
  const limit = new AttemptLimit();
  for (let count = 0; count < ATTEMPTS; count++) limit.take("10.0.0.1", 0);
  for (let host = 0; host < 9999; host++) limit.take(`10.1.${host >> 8}.${host & 255}`, 0);
  expect(limit.take("10.0.0.1", 0)).toBe(ATTEMPT_MS);
  limit.take("10.2.0.0", 0);
  expect(limit.take("10.0.0.1", 0)).toBe(0);
});

test("addresses whose passwords are right take the place of none whose are wrong", () => {
  const limit = new AttemptLimit();
  for (let count = 0; count < ATTEMPTS; count++) limit.take("10.0.0.1", 0);
  for (let host = 0; host < 10_000; host++) {
    limit.take(`10.1.${host >> 8}.${host & 255}`, 0);
    limit.giveBack(`10.1.${host >> 8}.${host & 255}`);
  }
  expect(limit.take("10.0.0.1", 0)).toBe(ATTEMPT_MS);
});

test("attempts that count become fewer with time, and with those that were right", () => {
  const limit = new AttemptLimit();
  expect(limit.count("10.0.0.1", 0)).toBe(0);
  for (let count = 0; count < 3; count++) limit.take("10.0.0.1", 0);
  expect([limit.count("10.0.0.1", 0), limit.count("10.0.0.1", 2 * ATTEMPT_MS), limit.count("10.0.0.2", 0)]).toEqual([
    3, 1, 0,
  ]);
  limit.giveBack("10.0.0.1");
  expect(limit.count("10.0.0.1", 0)).toBe(2);
  expect(limit.count("10.0.0.1", 9 * ATTEMPT_MS)).toBe(0);
  limit.take("10.0.0.3", ATTEMPT_MS);
  expect(limit.count("10.0.0.3", ATTEMPT_MS)).toBe(1);
});

test("a network of IPv6 has the attempts of one client", () => {
  const limit = new AttemptLimit();
  for (let host = 1; host <= ATTEMPTS; host++) expect(limit.take(`2001:db8::${host}`, 0)).toBe(0);
  expect([limit.take("2001:db8::ffff", 0), limit.count("2001:db8::", 0)]).toEqual([ATTEMPT_MS, ATTEMPTS]);
  expect(limit.take("2001:db8:0:1::1", 0)).toBe(0);
  limit.giveBack("2001:db8:0:2::1");
  limit.giveBack("2001:db8::1");
  expect([limit.take("2001:db8::2", 0), limit.take("2001:db8::3", 0)]).toEqual([0, ATTEMPT_MS]);
});

test("what was given back is no more than an address had", () => {
  const limit = new AttemptLimit();
  limit.take("10.0.0.1", 0);
  for (let time = 0; time < 3; time++) limit.giveBack("10.0.0.1");
  for (let count = 0; count < ATTEMPTS; count++) expect(limit.take("10.0.0.1", 0)).toBe(0);
  expect(limit.take("10.0.0.1", 0)).toBe(ATTEMPT_MS);
  // Nor are more earned than there are, however long it was quiet.
  for (let count = 0; count < ATTEMPTS; count++) expect(limit.take("10.0.0.1", 99 * ATTEMPT_MS)).toBe(0);
  expect(limit.take("10.0.0.1", 99 * ATTEMPT_MS)).toBe(ATTEMPT_MS);
});
