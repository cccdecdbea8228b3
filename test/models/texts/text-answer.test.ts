import { expect, test } from "vitest";
import { groupsOf } from "../../../src/models/texts/text-answer.ts";

const limits = { rows: undefined, bytes: Number.POSITIVE_INFINITY, isFixed: false };
const sizes = (texts: readonly string[], more: object = {}) =>
  groupsOf(texts, { ...limits, ...more }).map(({ length }) => length);

test("texts of like lengths run together, 32 at most, each in one group", () => {
  const texts = Array.from({ length: 100 }, (_, index) => "x".repeat(1 + (index % 2) * 500));
  const groups = groupsOf(texts, limits);
  expect(groups.map(({ length }) => length)).toEqual([32, 18, 32, 18]);
  expect(groups.flat().sort((a, b) => a - b)).toEqual([...texts.keys()]);
  expect(groups.every((places) => new Set(places.map((place) => texts[place]?.length)).size === 1)).toBe(true);
});

test("the more bytes texts have, the fewer of them run together, but for those that are cut", () => {
  expect(sizes(Array(8).fill("x".repeat(3072)))).toEqual([8]);
  expect(sizes(Array(8).fill("x".repeat(24 * 1024)))).toEqual([4, 4]);
  expect(sizes(Array(3).fill("x".repeat(1_000_000)))).toEqual([1, 1, 1]);
  expect(sizes(Array(40).fill("x".repeat(1_000_000)), { bytes: 3072 })).toEqual([32, 8]);
});

test("a model of fixed sizes gets as many rows as it takes, and pairs count as both of their texts", () => {
  expect(sizes(["a", "b".repeat(9000), "c"], { rows: 2, isFixed: true })).toEqual([2, 1]);
  const pair = ["x".repeat(24 * 1024), "x".repeat(24 * 1024)] as const;
  expect(groupsOf([pair, pair, pair], limits).map(({ length }) => length)).toEqual([2, 1]);
});
