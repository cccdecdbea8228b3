import { describe, expect, test } from "vitest";
import { parseJson } from "../../../../src/tensor/codecs/json/json-reader.ts";
import { dumpJson } from "../../../../src/tensor/codecs/json/json-value.ts";
import { ampleBudget } from "../../../proxy/ample-budget.ts";

function dump(text: string): string {
  return dumpJson(parseJson(Buffer.from(text), ampleBudget()));
}

describe("dumpJson", () => {
  test.each(["null", "true", '"a \\"quoted\\" é"', "5", "-7", "18446744073709551615", "[]", "{}", "2.5", "1.0", "NaN"])(
    "shows %s as it is",
    (text) => {
      expect(dump(text)).toBe(text);
    },
  );

  test("indents what is nested", () => {
    expect(dump('{"a":[1,2.5,"x"],"b":{"c":[[1],[2]]}}')).toBe(`{
    "a": [
        1,
        2.5,
        "x"
    ],
    "b": {
        "c": [
            [
                1
            ],
            [
                2
            ]
        ]
    }
}`);
  });

  test.each([
    ["a long text", `"${"x".repeat(1_000_000)}"`],
    ["a long list of numbers", `[${"1,".repeat(100_000)}1]`],
    ["a long list of texts", `[${'"a",'.repeat(100_000)}"a"]`],
    ["many members", `{${Array.from({ length: 10_000 }, (_, key) => `"${key}":0`)}}`],
    ["half a million levels", "[".repeat(500_000) + "]".repeat(500_000)],
    ["half a million levels of objects", `${'{"a":'.repeat(500_000)}1${"}".repeat(500_000)}`],
  ])("cuts %s", (_, text) => {
    expect(dump(text)).toMatch(/^["[{][\s\S]{255}\.\.\.$/);
  });
});
