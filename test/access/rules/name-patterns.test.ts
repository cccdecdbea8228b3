import { expect, test } from "vitest";
import { NamePatterns } from "../../../src/access/rules/access-rules.ts";

test.each([
  ["*", "", true],
  ["*", "any", true],
  ["a*", "abc", true],
  ["a*", "ba", false],
  ["*a", "ba", true],
  ["*a", "ab", false],
  ["a*a", "a", false],
  ["a*a", "aa", true],
  ["ab*ba", "aba", false],
  ["*ab*ab", "ab", false],
  ["*ab*ab", "abab", true],
  ["a**b", "ab", true],
  ["a*b*c", "a-c-b-c", true],
  ["a*b*c", "a-c-b", false],
  ["*-team-*-v*", "x-team-y-v1", true],
  ["*-team-*-v*", "x-team-v1", false],
  ["a.c*", "abc", false],
  ["*\n*", "a\nb", true],
  ["plain", "plain", true],
  ["plain", "plainer", false],
])("the pattern %o and the name %o: %o", (pattern, name, isMatch) => {
  expect(new NamePatterns([pattern]).matches(name)).toBe(isMatch);
});

test("of several patterns one is enough", () => {
  const patterns = new NamePatterns(["a*", "*z", "exact"]);
  expect(["apple", "jazz", "exact", "other"].map((name) => patterns.matches(name))).toEqual([true, true, true, false]);
});

test("agrees with a regular expression on every short name", () => {
  const names = [...combinations("ab", 5)];
  for (const text of combinations("ab*", 4)) {
    const expected = new RegExp(`^${text.replaceAll("*", ".*")}$`);
    const patterns = new NamePatterns([text]);
    const wrong = names.filter((name) => patterns.matches(name) !== expected.test(name));
    expect({ text, wrong }).toEqual({ text, wrong: [] });
  }
});

/** All texts of these characters up to a length. */
function* combinations(letters: string, length: number): Generator<string> {
  yield "";
  if (length === 0) return;
  for (const rest of combinations(letters, length - 1)) for (const letter of letters) yield letter + rest;
}

test("many stars and a long name end within the test's time", () => {
  const patterns = new NamePatterns(["*a*a*a*a*b", "*-team-*-v*"]);
  expect(patterns.matches("a".repeat(4_000_000))).toBe(false);
  expect(patterns.matches("-team-".repeat(500_000))).toBe(false);
});
