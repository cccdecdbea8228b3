import { describe, expect, test } from "vitest";
import { inferDType } from "../../../src/codecs/json/json-dtype.ts";
import { parseJson } from "../../../src/codecs/json/json-reader.ts";
import { ampleBudget } from "../../proxy/ample-budget.ts";

function infer(...texts: readonly string[]): string {
  return inferDType(texts.map((text) => parseJson(Buffer.from(text), ampleBudget())));
}

describe("inferDType", () => {
  test.each([
    ["[1, -2]", "int32"],
    ["[2147483647, -2147483648]", "int32"],
    ["[1, 2147483648]", "int64"],
    ["[-2147483649]", "int64"],
    ["[9223372036854775807]", "int64"],
    ["[9223372036854775808, 1]", "uint64"],
    ["[18446744073709551616]", "float32"],
    ["[1, 2.5]", "float32"],
    ["[1, 2.0]", "float32"],
    ["[1, 2e3]", "float32"],
    ["[1, NaN]", "float32"],
    ["7", "int32"],
    ['"text"', "bytes"],
    ['[["text"]]', "bytes"],
    ['{"b64": "AA=="}', "bytes"],
    ["[true, false]", "bool"],
    ["[]", "float32"],
    ["[[], []]", "float32"],
    ["null", "float32"],
    ["[1, null]", "float32"],
    ["[[null, 1], [2, 3]]", "float32"],
    ['[null, "red"]', "bytes"],
    ["[null, true]", "bool"],
    ["[[1, 2], [3]]", "int32"],
    ["[[1, 2], [3.5]]", "float32"],
    ["[[1, 2], [3000000000]]", "int64"],
    ['[1, "text"]', "int32"],
  ])("takes %s for %s", (text, dtype) => {
    expect(infer(text)).toBe(dtype);
  });

  test("finds one dtype for several values", () => {
    expect(infer("1", "2.5")).toBe("float32");
    expect(infer("[1]", "[3000000000]", "[2]")).toBe("int64");
    expect(infer()).toBe("float32");
  });

  test("looks into half a million levels", () => {
    expect(infer(`${"[".repeat(500_000)}1.5${"]".repeat(500_000)}`)).toBe("float32");
  });
});
