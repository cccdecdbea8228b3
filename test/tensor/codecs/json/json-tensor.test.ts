import { describe, expect, test } from "vitest";
import { parseJson } from "../../../../src/tensor/codecs/json/json-reader.ts";
import {
  inferDType,
  type JsonTensorRules,
  type Mismatch,
  toJsonTensor,
} from "../../../../src/tensor/codecs/json/json-tensor.ts";
import { isJsonObject } from "../../../../src/tensor/codecs/json/json-value.ts";
import type { DType } from "../../../../src/tensor/dtype.ts";
import { comparable } from "../../../grpc/plain-tensor.ts";
import { ampleBudget } from "../../../proxy/ample-budget.ts";

/** Carries the mismatch to the test. */
class Refusal extends Error {
  readonly mismatch: Mismatch;

  constructor(mismatch: Mismatch) {
    super(mismatch.kind);
    this.mismatch = mismatch;
  }
}

const DIALECT: JsonTensorRules = {
  integers: "literals",
  overflow: "infinite",
  nullIsNaN: true,
  text: (text) => Buffer.from(text),
  object: () => Buffer.from("object"),
  refuse: (mismatch) => new Refusal(mismatch),
};

function convert(text: string, dtype: DType, rules: Partial<JsonTensorRules> = {}) {
  const value = parseJson(Buffer.from(text), ampleBudget());
  return toJsonTensor(value, dtype, { ...DIALECT, ...rules });
}

function mismatchOf(text: string, dtype: DType, rules: Partial<JsonTensorRules> = {}): Mismatch {
  try {
    convert(text, dtype, rules);
  } catch (reason) {
    if (reason instanceof Refusal) return reason.mismatch;
    throw reason;
  }
  throw new Error(`${text} was taken`);
}

describe("toJsonTensor", () => {
  test.each([
    ["7", [], [7]],
    ["[7]", [1], [7]],
    ["[[1, 2, 3], [4, 5, 6]]", [2, 3], [1, 2, 3, 4, 5, 6]],
    ["[]", [0], []],
    ["[[], []]", [2, 0], []],
    ["[[[]]]", [1, 1, 0], []],
  ])("gives %s the shape %j", (text, shape, data) => {
    expect(comparable(convert(text, "int32"))).toEqual({ dtype: "int32", shape, data });
  });

  test.each<[DType, string, unknown[]]>([
    ["uint8", "[0, 255]", [0, 255]],
    ["uint16", "[0, 65535]", [0, 65535]],
    ["uint32", "[0, 4294967295]", [0, 4294967295]],
    ["uint64", "[0, 18446744073709551615]", [0n, 18446744073709551615n]],
    ["int8", "[-128, 127]", [-128, 127]],
    ["int16", "[-32768, 32767]", [-32768, 32767]],
    ["int32", "[-2147483648, 2147483647]", [-2147483648, 2147483647]],
    ["int64", "[-9223372036854775808, 9007199254740993]", [-9223372036854775808n, 9007199254740993n]],
    ["float16", "[1, -0.5, 1e10, NaN]", [0x3c00, 0xb800, 0x7c00, 0x7e00]],
    ["bfloat16", "[1, -0.5, NaN]", [0x3f80, 0xbf00, 0x7fc0]],
    ["float32", "[1, 0.1, 1e300, -1e-300, NaN]", [1, Math.fround(0.1), Number.POSITIVE_INFINITY, -0, Number.NaN]],
    ["float64", "[1, 0.1, 1e300, Infinity]", [1, 0.1, 1e300, Number.POSITIVE_INFINITY]],
    ["bool", "[true, false]", [1, 0]],
    ["bytes", '["a", "é"]', [Buffer.from("a"), Buffer.from("é")]],
    ["float32", "[1.5, null]", [1.5, Number.NaN]],
    ["bfloat16", "[null]", [0x7fc0]],
  ])("reads %s from %s", (dtype, text, data) => {
    expect(comparable(convert(text, dtype))).toEqual({ dtype, shape: [data.length], data });
  });

  test.each<[DType, string]>([
    ["uint8", "256"],
    ["uint8", "-1"],
    ["uint16", "65536"],
    ["uint32", "4294967296"],
    ["uint64", "-1"],
    ["uint64", "18446744073709551616"],
    ["int8", "128"],
    ["int16", "-32769"],
    ["int32", "2147483648"],
    ["int64", "9223372036854775808"],
    ["int64", "1.5"],
    ["int32", "1.0"],
    ["int32", "NaN"],
    ["bool", "1"],
    ["bool", "null"],
    ["bytes", "1"],
    ["bytes", "true"],
    ["float32", '"1"'],
    ["float32", "true"],
    ["float32", "{}"],
    ["int32", "null"],
    ["complex64", "1"],
  ])("takes no %s from %s", (dtype, text) => {
    expect(mismatchOf(text, dtype)).toMatchObject({ kind: "type", dtype, path: [], shape: [] });
    expect(mismatchOf(`[[${text}]]`, dtype)).toMatchObject({ kind: "type", dtype, path: [0, 0], shape: [1, 1] });
  });

  test("takes integral values of any form where the rules lets it", () => {
    const values = { integers: "values" } as const;
    expect(comparable(convert("[1.0, 1e3, -2]", "int32", values)).data).toEqual([1, 1000, -2]);
    expect(comparable(convert("[1.0, 1e15]", "int64", values)).data).toEqual([1n, 1_000_000_000_000_000n]);
    expect(mismatchOf("[1, 1.5]", "int32", values)).toMatchObject({ kind: "type", path: [1] });
    expect(mismatchOf("[Infinity]", "int64", values)).toMatchObject({ kind: "type", path: [0] });
    expect(comparable(convert("[9007199254740991.0]", "int64", values)).data).toEqual([9007199254740991n]);
    expect(mismatchOf("[1, 9007199254740993.0]", "int64", values)).toMatchObject({ kind: "type", path: [1] });
    expect(mismatchOf("[1e19]", "int64", values)).toMatchObject({ kind: "type", path: [0] });
  });

  test.each<[DType, string, number]>([
    ["float32", "[1, 1e39]", 1],
    ["float32", "[-3.4028235677973366e38]", 0],
    ["float32", `[1${"0".repeat(39)}]`, 0],
    ["float16", "[65504, 65519.9, NaN, 65520]", 3],
    ["float16", "[-70000]", 0],
    ["bfloat16", "[3.39e38, 3.4e38]", 1],
  ])("refuses what %s would make infinite where the rules say so: %s", (dtype, text, place) => {
    expect(mismatchOf(text, dtype, { overflow: "refused" })).toMatchObject({ kind: "type", dtype, path: [place] });
    expect(convert(text, dtype).dtype).toBe(dtype);
  });

  test.each<[DType, string]>([
    ["float32", "[3.4028235677973362e38, Infinity, -Infinity, NaN, 1e-300, 1e30]"],
    ["float16", "[65519.9, Infinity, 1e-300]"],
    ["bfloat16", "[3.39e38, -Infinity]"],
    ["float64", "[1e300, Infinity]"],
  ])("takes infinities and the largest of %s all the same: %s", (dtype, text) => {
    expect(comparable(convert(text, dtype, { overflow: "refused" }))).toEqual(comparable(convert(text, dtype)));
  });

  test("refuses the one that becomes infinite in a long list of large numbers, after others", () => {
    const large = Array<string>(1000).fill("1e30");
    const text = `[[${large}], [${large.with(700, "1e39")}]]`;
    expect(mismatchOf(text, "float32", { overflow: "refused" })).toMatchObject({ path: [1, 700], value: { size: 1 } });
  });

  test("refuses null where the rules has no use for it", () => {
    expect(mismatchOf("[null]", "float32", { nullIsNaN: false })).toMatchObject({ kind: "type", value: null });
  });

  test("lets the rules decide what an object means", () => {
    const object: JsonTensorRules["object"] = (value) => Buffer.from(String(isJsonObject(value) && value.key));
    expect(comparable(convert('[{"key": "a"}, "b"]', "bytes", { object })).data).toEqual(
      ["a", "b"].map((text) => Buffer.from(text)),
    );
  });

  test("names the element that does not fit, in a block of numbers too", () => {
    expect(mismatchOf("[[1, 2], [3, 4.5]]", "int32")).toMatchObject({ path: [1, 1], value: { size: 1 } });
    expect(mismatchOf('[[1, 2], [3, "a"]]', "int32")).toMatchObject({ path: [1, 1], value: "a" });
  });

  test.each([
    ["[[1,2],[3]]", { kind: "size", size: 1, path: [1], shape: [2, 2] }],
    ["[[[1,2],[3,4]],[[5,6,7],[8,9,0]]]", { kind: "size", size: 3, path: [1, 0], shape: [2, 2, 2] }],
    ["[[1],2]", { kind: "value", path: [1], shape: [2, 1] }],
    ["[[[1]],[2]]", { kind: "value", path: [1], shape: [2, 1, 1] }],
    ["[1,[2]]", { kind: "list", path: [1], shape: [2] }],
    ["[[1],[[2]]]", { kind: "list", path: [1, 0], shape: [2, 1] }],
    ["[[],[1]]", { kind: "size", size: 1, path: [1], shape: [2, 0] }],
    ["[[1],[]]", { kind: "size", size: 0, path: [1], shape: [2, 1] }],
    ['[["a"],"b"]', { kind: "value", path: [1], value: "b" }],
    ['["a",["b"]]', { kind: "list", path: [1] }],
  ])("refuses the ragged %s", (text, mismatch) => {
    expect(mismatchOf(text, text.includes('"') ? "bytes" : "int32")).toMatchObject(mismatch);
  });

  test("has at most 254 dimensions", () => {
    const tower = (levels: number) => `${"[".repeat(levels)}1${"]".repeat(levels)}`;
    expect(convert(tower(254), "float32").shape).toHaveLength(254);
    expect(mismatchOf(tower(255), "float32")).toMatchObject({ kind: "rank" });
    expect(convert("[".repeat(254) + "]".repeat(254), "float32").shape).toHaveLength(254);
    expect(mismatchOf("[".repeat(255) + "]".repeat(255), "float32")).toMatchObject({ kind: "rank" });
    expect(mismatchOf(tower(500_000), "float32")).toMatchObject({ kind: "rank" });
    expect(mismatchOf(`${"[".repeat(500_000)}${"]".repeat(500_000)}`, "float32")).toMatchObject({ kind: "rank" });
  });

  test("refuses a tower next to a list without climbing it", () => {
    expect(mismatchOf(`[["a"], ${"[".repeat(500_000)}${"]".repeat(500_000)}]`, "bytes")).toMatchObject({
      kind: "list",
      path: [1, 0],
    });
  });

  test("owns its whole buffer", () => {
    const tensor = convert("[[1, 2], [3, 4]]", "float32");
    expect((tensor.data as Float32Array).buffer.byteLength).toBe(16);
    const grown = convert("[[1, null], [3, 4]]", "float32");
    expect((grown.data as Float32Array).buffer.byteLength).toBe(16);
  });
});

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
