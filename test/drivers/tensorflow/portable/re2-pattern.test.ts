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

  it.each(["(?i)a", "(?P<name>a)", "[[:alpha:]]", "\\pL", "\\Qa", "a{", "(", "\\1", "[z-a]", "a**", "(a{999}){999}"])(
    "gives nothing for %j",
    (pattern) => {
      expect(toPattern(pattern)).toBeUndefined();
    },
  );
});

describe("a pattern", () => {
  it.each([
    ["(a+)+b", "a".repeat(5000)],
    ["(a|aa)+b", "a".repeat(5000)],
    ["a*a*a*a*a*b", "a".repeat(5000)],
  ])("%j is followed in all its ways at once", (pattern, text) => {
    expect(toPattern(pattern)?.isWhole(text)).toBe(false);
    expect(toPattern(pattern)?.isWhole(`${text}b`)).toBe(true);
  });

  it.each(["(a*)(b?)c{1,2}|(b)", "(?:a|(ab))(c|bcd)?", "(a{2,3}?)(a*)", "\\b(\\w)\\w*\\b", "x*?b|b$", "([^a]|aa)+"])(
    "%j replaces what JavaScript's own replaces",
    (pattern) => {
      const show = (groups: readonly (string | undefined)[]) => `<${groups.map((each) => each ?? "").join(",")}>`;
      const own = new RegExp(pattern, "gu");
      for (const text of ["abcd", "aaaaa", "bab abcc", "é b aab", ""]) {
        const { length: groups } = new RegExp(`${pattern}|`, "u").exec("") as RegExpExecArray;
        const expected = text.replace(own, (...all) => show(all.slice(0, groups)));
        const padded = (given: readonly string[]) => show(Array.from({ length: groups }, (_, at) => given[at]));
        expect(toPattern(pattern)?.replace(text, padded, true)).toBe(expected);
      }
    },
  );
});
