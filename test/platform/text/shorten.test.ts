import { expect, test } from "vitest";
import { cutText } from "../../../src/platform/text/cut-text.ts";
import { shorten, shortenMiddle, withoutEnd } from "../../../src/platform/text/shorten.ts";

test("a text of the limit stays, a longer one says how much is left out", () => {
  expect(shorten("abcd", 4)).toBe("abcd");
  expect(shorten("abcde", 4)).toBe("abcd… (1 more characters)");
});

test("of the middle of a text nothing is left but how long it was", () => {
  expect(shortenMiddle("abcd", 4)).toBe("abcd");
  expect(shortenMiddle("abcdefg", 4)).toBe("ab… (3 more characters) …fg");
});

test("a long message is cut as TensorFlow Serving does, at 1024 bytes and never inside a character", () => {
  expect(cutText("a".repeat(1024))).toBe("a".repeat(1024));
  expect(cutText("a".repeat(1025))).toBe(`${"a".repeat(1024)}...TRUNCATED`);
  expect(cutText(`a${"€".repeat(400)}`)).toBe(`a${"€".repeat(341)}...TRUNCATED`);
  expect(cutText("😀".repeat(1000))).toBe(`${"😀".repeat(256)}...TRUNCATED`);
  expect(cutText(`a${"😀".repeat(1_000_000)}`)).toBe(`a${"😀".repeat(255)}...TRUNCATED`);
});

test("halves of surrogate pairs, which a header cannot carry, are replaced", () => {
  expect(cutText("a\ud800b")).toBe("a\ufffdb");
});

test.each([
  ["a//b//", "/", "a//b"],
  ["a", "/", "a"],
  ["///", "/", ""],
  ["", "/", ""],
  ["a. .", ". ", "a"],
])("of %o without %o at its end %o stays", (text, characters, left) => {
  expect(withoutEnd(text, characters)).toBe(left);
});
