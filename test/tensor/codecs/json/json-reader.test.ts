import { describe, expect, test } from "vitest";
import { DecodeBudget } from "../../../../src/platform/limits/memory/decode-budget.ts";
import { parseJson } from "../../../../src/tensor/codecs/json/json-reader.ts";
import { JsonNumbers, type JsonValue } from "../../../../src/tensor/codecs/json/json-value.ts";
import { isRecord } from "../../../../src/tensor/record.ts";
import { Random } from "../../../grpc/random.ts";
import { ampleBudget } from "../../../proxy/ample-budget.ts";
import { randomJson } from "../../../proxy/random-json.ts";
import { toPlain } from "../../../proxy/to-plain.ts";

function parse(text: string, options = {}, budget = ampleBudget()): JsonValue {
  return parseJson(Buffer.from(text), budget, options);
}

function errorOf(text: string, options = {}): string {
  try {
    parse(text, options);
  } catch (reason) {
    expect(reason).toMatchObject({ name: "ServingError", code: "invalid_argument" });
    return (reason as Error).message.replace("JSON Parse error: ", "");
  }
  return "no error";
}

describe("parseJson", () => {
  test("agrees with JSON.parse on random documents", () => {
    const random = new Random(1);
    for (let round = 0; round < 3000; round++) {
      const text = randomJson(random);
      expect(toPlain(parse(text)), text).toEqual(JSON.parse(text));
    }
  });

  test("makes one block of a regular list of numbers, however deep", () => {
    const value = parse("[[[1, 2], [3, 4]],\n [[5, 6.5], [7, -8]]]");
    expect(value).toBeInstanceOf(JsonNumbers);
    expect(value).toMatchObject({ shape: [2, 2, 2], size: 8 });
    expect(toPlain(value)).toEqual([
      [
        [1, 2],
        [3, 4],
      ],
      [
        [5, 6.5],
        [7, -8],
      ],
    ]);
  });

  test.each([
    "[[1,2],[3]]",
    "[[1,2],3]",
    "[1,[2,3]]",
    "[[1],[[2]]]",
    "[[[1,2],[3,4]],[[5,6]]]",
    '[1,2,"a",3]',
    "[[1,2],[],[3,4]]",
    "[[[1]],[[2]],null]",
    "[[1,2],{},[3,4]]",
  ])("keeps the values of %s, which is no block", (text) => {
    const value = parse(text);
    expect(value).not.toBeInstanceOf(JsonNumbers);
    expect(toPlain(value)).toEqual(JSON.parse(text));
  });

  test("keeps blocks apart that lie in one document", () => {
    const { a, b } = parse('{"a": [1, 2], "b": [[3], [4]]}') as unknown as Record<string, JsonNumbers>;
    expect([a?.shape, b?.shape]).toEqual([[2], [2, 1]]);
    expect([toPlain(a as JsonNumbers), toPlain(b as JsonNumbers)]).toEqual([
      [1, 2],
      [[3], [4]],
    ]);
  });

  test("takes keys such as __proto__ as data", () => {
    const value = parse('{"__proto__": {"polluted": true}, "constructor": 1}') as Record<string, JsonValue>;
    expect(isRecord(value)).toBe(true);
    expect(Object.keys(value)).toEqual(["__proto__", "constructor"]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test("lets the last of equal keys hold", () => {
    expect(toPlain(parse('{"a": 1, "b": 2, "a": 3}'))).toEqual({ a: 3, b: 2 });
  });

  test("skips a byte order mark", () => {
    expect(toPlain(parse("\ufeff [1]"))).toEqual([1]);
  });

  test("takes the words for NaN and infinities, and no other words", () => {
    expect(toPlain(parse("[NaN, Infinity, -Infinity, Inf, -Inf]"))).toEqual([
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
    ]);
    expect(errorOf("[-NULL]")).toBe("Invalid value. at offset: 2");
    expect(errorOf("[Nan]")).toBe("Invalid value. at offset: 1");
  });

  test("ignores text after the value only on request", () => {
    expect(toPlain(parse('{"a": 1} garbage', { ignoreTrailing: true }))).toEqual({ a: 1 });
    expect(errorOf('{"a": 1} garbage')).toBe("The document root must not be followed by other values. at offset: 9");
  });

  test.each([
    ["", "The document is empty. at offset: 0"],
    [" \n", "The document is empty. at offset: 2"],
    ["]", "The document is empty. at offset: 0"],
    [",", "The document is empty. at offset: 0"],
    ["{", "Missing a name for object member. at offset: 1"],
    ["{1}", "Missing a name for object member. at offset: 1"],
    ['{"a":1,}', "Missing a name for object member. at offset: 7"],
    ['{"a"', "Missing a colon after a name of object member. at offset: 4"],
    ['{"a" 1}', "Missing a colon after a name of object member. at offset: 5"],
    ['{"a":', "Invalid value. at offset: 5"],
    ['{"a":1', "Missing a comma or '}' after an object member. at offset: 6"],
    ['{"a":1 "b":2}', "Missing a comma or '}' after an object member. at offset: 7"],
    ["[1,]", "Invalid value. at offset: 3"],
    ["[,1]", "Invalid value. at offset: 1"],
    ["[1 2]", "Missing a comma or ']' after an array element. at offset: 3"],
    ["[1,2", "Missing a comma or ']' after an array element. at offset: 4"],
    ["[[1,2],[3,4}", "Missing a comma or ']' after an array element. at offset: 11"],
    ["nul", "Invalid value. at offset: 3"],
    ["[trup]", "Invalid value. at offset: 4"],
    ["[falsy]", "Invalid value. at offset: 5"],
    ["é", "Invalid value. at offset: 0"],
    ["[01]", "Missing a comma or ']' after an array element. at offset: 2"],
  ])("refuses %j", (text, message) => {
    expect(errorOf(text)).toBe(message);
  });

  test("reads half a million lists inside one another, and refuses a tower too high for memory", () => {
    const tower = (levels: number, core: string) => "[".repeat(levels) + core + "]".repeat(levels);
    let value = parse(tower(500_000, "7"));
    let levels = 0;
    for (; Array.isArray(value); value = value[0] as JsonValue) levels++;
    expect(value).toBeInstanceOf(JsonNumbers);
    expect(levels + (value as JsonNumbers).shape.length).toBe(500_000);
    expect(errorOf(tower(1_000_001, ""))).toBe("More than 1000000 levels of nesting. at offset: 1000000");
    expect(errorOf('{"a":'.repeat(1_000_001))).toMatch(/^More than 1000000 levels of nesting/);
  });

  test.each([
    ["numbers", `[${"1,".repeat(159_999)}1]`, 1_200_000, /^one more number takes /],
    [
      "values that are no numbers",
      `[${"[],".repeat(999)}[]]`,
      64_191,
      /^one more value takes 64 bytes in memory, 63 of/,
    ],
    [
      "numbers among other values",
      `[${"1,".repeat(1000)}"a"]`,
      64_000,
      /^a list of 1000 values that are not all numbers/,
    ],
  ])("stops where %s would take more memory than it may", (_, text, tooFewBytes, message) => {
    expect(parse(text, {}, new DecodeBudget(1.2 * tooFewBytes))).toBeDefined();
    expect(() => parse(text, {}, new DecodeBudget(tooFewBytes))).toThrow(
      expect.objectContaining({ code: "invalid_argument", message: expect.stringMatching(message) }),
    );
  });
});
