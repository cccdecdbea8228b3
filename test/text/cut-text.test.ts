import { expect, test } from "vitest";
import { cutText } from "../../src/text/cut-text.ts";

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
