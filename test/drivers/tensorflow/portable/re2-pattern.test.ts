import { describe, expect, it } from "vitest";
import { toPattern } from "../../../../src/drivers/tensorflow/portable/re2-pattern.ts";

describe("toPattern", () => {
  it.each([
    ["a.c", "a\rc", true],
    ["a.c", "a\nc", false],
    ["^\\s$", "\u00a0", false],
    ["^\\s$", "\t", true],
    ["^[^\\w-]$", "é", true],
    ["^(?:ab|c)+?$", "abc", true],
    ["^x{2,3}$", "xxxx", false],
    ["^\\D$", "٣", true],
    ["^[!\\-\\]]+$", "!-]", true],
  ])("means by %j what RE2 means, with %j", (pattern, text, matches) => {
    const found = toPattern(pattern)?.replace(text, () => "", false);
    expect(found !== text).toBe(matches);
  });

  it.each([
    ...["(?i)a", "(?P<name>a)", "[[:alpha:]]", "\\pL", "\\Qa", "a{", "(", "\\1", "[z-a]", "a**"],
    ...["(a{999}){999}", "a{1001}", "(?:){1000000000}", "a{0,1001}", "a{1001,}"],
  ])("gives nothing for %j", (pattern) => {
    expect(toPattern(pattern)).toBeUndefined();
  });

  it("takes a count of a thousand, and copies of nothing within each other", () => {
    expect(toPattern("a{1000}")?.isWhole("a".repeat(1000))).toBe(true);
    expect(toPattern("(?:(?:(?:(?:){1000}){1000}){1000}){1000}a?")?.isWhole("a")).toBe(true);
  });
});

describe("a pattern", () => {
  it.each([
    ["(a+)+b", "a".repeat(5000)],
    ["(a|aa)+b", "a".repeat(5000)],
    ["a*a*a*a*a*b", "a".repeat(5000)],
    [`${"(a|[ab])".repeat(30)}b`, "a".repeat(30)],
  ])("%j is followed in all its ways at once", (pattern, text) => {
    expect(toPattern(pattern)?.isWhole(text)).toBe(false);
    expect(toPattern(pattern)?.isWhole(`${text}b`)).toBe(true);
  });

  it.each([
    ...["(a*)(b?)c{1,2}|(b)", "(?:a|(ab))(c|bcd)?", "(a{2,3}?)(a*)", "\\b(\\w)\\w*\\b", "x*?b|b$", "([^a]|aa)+"],
    ...["[é😀]", "(😀|é)?", "\\b", "(b)[a-c]+|(a)", "a+?|b", "[^a]*"],
  ])("%j replaces what JavaScript's own replaces", (pattern) => {
    const show = (groups: readonly (string | undefined)[]) => `<${groups.map((each) => each ?? "").join(",")}>`;
    const own = new RegExp(pattern, "gu");
    for (const text of ["abcd", "aaaaa", "bab abcc", "é b aab", "", "é😀b😀"]) {
      const { length: groups } = new RegExp(`${pattern}|`, "u").exec("") as RegExpExecArray;
      const expected = text.replace(own, (...all) => show(all.slice(0, groups)));
      const padded = (given: readonly (string | undefined)[]) =>
        show(Array.from({ length: groups }, (_, at) => given[at]));
      expect(toPattern(pattern)?.replace(text, padded, true)).toBe(expected);
    }
  });

  it.each(["[!😀]", "[!😀]{1}"])("%j replaces each of many matches", (pattern) => {
    const removed = toPattern(pattern)?.replace("!😀a".repeat(30_000), () => "-", true);
    expect(removed === "--a".repeat(30_000)).toBe(true);
  });

  it("is refused for a text that it looks at again for each of many matches", () => {
    const pattern = toPattern("<[^>]*>|<");
    const [small, large] = ["<".repeat(100), "<".repeat(20_000)];
    expect(pattern?.replace(small, () => "-", true)).toBe("-".repeat(100));
    expect(pattern?.replace(`${large}>`, () => "-", true)).toBe("-");
    expect(() => pattern?.replace(large, () => "-", true)).toThrow(
      /20000 characters .* more than 8 times.*kserving runtimes install tensorflow/,
    );
  });

  it("is refused for a run of characters that V8's engine does not hold", () => {
    const text = "😀".repeat(17_000_000);
    expect(() => toPattern("[^a]+")?.isWhole(text)).toThrow(/too many of .* 34000000 .*kserving runtimes install/);
  });
});
