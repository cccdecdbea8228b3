import { expect, test } from "vitest";
import type { AttackRow } from "../../../bench/attack/attack-row.ts";
import { ATTACK_ROWS } from "../../../bench/attack/attack-rows.ts";
import { CONFIGURATIONS, configurationsOf, usualConfiguration } from "../../../bench/attack/configuration.ts";

test("the rows go to every configuration, and each to one that it can be in", () => {
  const usual = new Map(ATTACK_ROWS.map((row) => [row, usualConfiguration(row)]));
  expect(new Set(usual.values())).toEqual(new Set(CONFIGURATIONS));
  for (const [row, configuration] of usual) expect(configurationsOf(row)).toContain(configuration);
});

test("a row that is encrypted, or cannot be, stays so", () => {
  const row = { name: "a", server: "null", prepare: () => async () => ({ got: "" }) } satisfies AttackRow;
  const names = (one: AttackRow) => configurationsOf(one).map(({ name }) => name);
  expect(names(row)).toEqual(["plain", "tls", "listeners", "tls-listeners"]);
  expect(names({ ...row, isEncrypted: true })).toEqual(["tls", "tls-listeners"]);
  expect(names({ ...row, isPlain: true })).toEqual(["plain", "listeners"]);
  expect(names({ ...row, hasListeners: true })).toEqual(["listeners", "tls-listeners"]);
  expect(names({ ...row, isPlain: true, hasListeners: false })).toEqual(["plain"]);
});

test("no two rows have one name", () => {
  const names = ATTACK_ROWS.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
});
