import { expect, it } from "vitest";
import { DecodeBudget } from "../../../src/platform/limits/memory/decode-budget.ts";
import { errorOfLine, joinJsonLines } from "../../../src/protocols/sagemaker/json-lines.ts";
import { parseJson } from "../../../src/tensor/codecs/json/json-reader.ts";

const joined = (text: string) => Buffer.from(joinJsonLines(Buffer.from(text)).json).toString();

/** The message about lines of which the JSON is parsed in the end. */
function refusal(text: string): string {
  try {
    const { json, places } = joinJsonLines(Buffer.from(text));
    try {
      parseJson(json, new DecodeBudget(2 ** 26));
    } catch (reason) {
      throw errorOfLine(reason, places);
    }
  } catch (reason) {
    return (reason as Error).message;
  }
  return "";
}

it.each([
  ["1\n2", '{"instances":[1,2]}'],
  ["[1]\n", '{"instances":[[1]\n]}'],
  ["\n\n 1\r\n \n2\t\n\n", '{"instances":[\n\n 1\r, \n2\t\n\n]}'],
  ["\ufeff1\n2", '{"instances":[   1,2]}'],
  ['{"x":"a\\"}{\\\\"}\n"]\\u005d,"', '{"instances":[{"x":"a\\"}{\\\\"},"]\\u005d,"]}'],
  ["-1.5e3\nNaN\nnull", '{"instances":[-1.5e3,NaN,null]}'],
])("%j is joined to %j", (text, json) => {
  expect(joined(text)).toBe(json);
  expect(refusal(text)).toBe("");
});

it.each([
  ["two halves of a value", "[1\n2]", 1, "it ends within a list or an object."],
  ["two halves behind a whole line", '{"x":1}\n\n{"x":\n3}', 3, "it ends within a list or an object."],
  ["the end of an outer list", '1\n2],"y":[3', 2, "it closes a list or an object that it does not open."],
  ["two values with a comma", "1\n2,3", 2, "it has a comma that is in no list."],
  ["a comma behind the value", "1,\n2", 1, "it has a comma that is in no list."],
  ["a text that goes on", '1\n"a\nb"', 2, "it has a text that is not closed."],
  ["a text that goes on behind a backslash", '1\n"a\\\nb"', 2, "it has a text that is not closed."],
  ["two values", "1\n2 3\n4", 2, "Missing a comma or ']' after an array element. at offset: 2"],
  [
    "brackets that do not match",
    '{"x":1}\n{"x":[2}]\n1',
    2,
    "Missing a comma or ']' after an array element. at offset: 7",
  ],
  ["a word", "null\ntru\n1", 2, "Invalid value. at offset: 3"],
  ["a number without digits", "\n-\n1", 2, "Invalid value. at offset: 1"],
  ["half a member", '1\n{"x"}', 2, "Missing a colon after a name of object member. at offset: 4"],
])("%s is refused with the line", (_, text, line, what) => {
  expect(refusal(text)).toBe(`Line ${line} of the body is not JSON: ${what}`);
});

it("a line is named among the first million, and the place of the whole body behind them", () => {
  const lines = (count: number) => `${"1\n".repeat(count)}x`;
  expect(refusal(lines(2 ** 20 - 1))).toMatch(/^Line 1048576 of the body is not JSON: Invalid value/);
  expect(refusal(lines(2 ** 20))).toMatch(/^JSON Parse error: Invalid value\. at offset: 20971\d\d$/);
});

it("errors of another kind stay as they are", () => {
  const reason = new Error("JSON Parse error: x at offset: 20");
  expect(errorOfLine(reason, Uint32Array.of(14))).toBe(reason);
});
