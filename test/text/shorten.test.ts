import { expect, test } from "vitest";
import { shorten, shortenMiddle } from "../../src/text/shorten.ts";

test("a text of the limit stays, a longer one says how much is left out", () => {
  expect(shorten("abcd", 4)).toBe("abcd");
  expect(shorten("abcde", 4)).toBe("abcd… (1 more characters)");
});

test("of the middle of a text nothing is left but how long it was", () => {
  expect(shortenMiddle("abcd", 4)).toBe("abcd");
  expect(shortenMiddle("abcdefg", 4)).toBe("ab… (3 more characters) …fg");
});
