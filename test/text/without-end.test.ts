import { expect, test } from "vitest";
import { withoutEnd } from "../../src/text/without-end.ts";

test.each([
  ["a//b//", "/", "a//b"],
  ["a", "/", "a"],
  ["///", "/", ""],
  ["", "/", ""],
  ["a. .", ". ", "a"],
])("of %o without %o at its end %o stays", (text, characters, left) => {
  expect(withoutEnd(text, characters)).toBe(left);
});
