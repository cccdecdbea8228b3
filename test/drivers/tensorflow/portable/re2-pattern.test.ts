import { describe, expect, it } from "vitest";
import { toPattern } from "../../../../src/drivers/tensorflow/portable/kernels/string.ts";

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
    expect(toPattern(pattern, "u")?.test(text)).toBe(matches);
  });

  it.each(["(?i)a", "(?P<name>a)", "[[:alpha:]]", "\\pL", "\\Qa", "a{", "(", "\\1", "[z-a]"])(
    "gives nothing for %j",
    (pattern) => {
      expect(toPattern(pattern, "u")).toBeUndefined();
    },
  );
});
