import { expect, test } from "vitest";
import { parseExactJson } from "../../../../src/tensor/codecs/json/tensor-from-json.ts";

test("numbers that JSON has no words for, or JavaScript would round, are texts; texts stay", () => {
  const text =
    '{"a": [NaN, -Infinity , Infinity],"b":9223372036854775807,"c":"NaN, 12345678901234567890, \\" Infinity","d":1.5}';
  expect(parseExactJson(text)).toEqual({
    a: ["NaN", "-Infinity", "Infinity"],
    b: "9223372036854775807",
    c: 'NaN, 12345678901234567890, " Infinity',
    d: 1.5,
  });
  expect(parseExactJson('[0.12345678901234567890, 12345678901234567890e3, "Infinity"]')).toEqual([
    0.12345678901234568,
    1.2345678901234568e22,
    "Infinity",
  ]);
});

test("runs of spaces and of escapes take a time in proportion to them", () => {
  expect(parseExactJson(`[NaN,${" ".repeat(3_000_000)}1]`)).toEqual(["NaN", 1]);
  expect(() => parseExactJson(`[NaN,"${'\\"'.repeat(1_000_000)}`)).toThrow();
});

test.each(["[1,", "[NaN,", '{"a": [1, 9007\f19925472]}'])("a text that is no JSON is refused: %j", (text) => {
  expect(() => parseExactJson(text)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
});
