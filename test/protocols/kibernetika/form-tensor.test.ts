import { describe, expect, test } from "vitest";
import { dtypeOfName } from "../../../src/protocols/kibernetika/dtype-names.ts";
import { filesToTensor, textsToTensor } from "../../../src/protocols/kibernetika/http-multipart.ts";
import type { DType } from "../../../src/tensor/dtype.ts";
import { comparable } from "../../grpc/plain-tensor.ts";
import { ampleBudget } from "../../proxy/ample-budget.ts";

function field(type: string) {
  return { field: `${type}_x`, type, dtype: dtypeOfName(type) as DType };
}

describe("textsToTensor", () => {
  test.each<[string, string[], string, unknown[]]>([
    [
      "float",
      ["1,2.5, -3e2 ,.5,NaN,-inf,Infinity"],
      "float32",
      [1, 2.5, -300, 0.5, Number.NaN, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
    ],
    ["double", ["0.1"], "float64", [0.1]],
    ["int", ["1,-2,9007199254740993"], "int64", [1n, -2n, 9007199254740993n]],
    ["int8", ["-128,127"], "int8", [-128, 127]],
    ["int16", ["+5"], "int16", [5]],
    ["int32", ["1", "2,3"], "int32", [1, 2, 3]],
    ["int64", ["-9223372036854775808"], "int64", [-9223372036854775808n]],
    ["uint8", ["0,255"], "uint8", [0, 255]],
    ["uint16", ["65535"], "uint16", [65535]],
    ["uint32", ["4294967295"], "uint32", [4294967295]],
    ["uint64", ["18446744073709551615"], "uint64", [18446744073709551615n]],
    ["bool", ["true,False,1,0,T,f"], "bool", [1, 0, 1, 0, 1, 0]],
    ["string", ["Hello, world"], "bytes", [Buffer.from("Hello, world")]],
    ["string", ["a", "b,c"], "bytes", [Buffer.from("a"), Buffer.from("b,c")]],
    ["strings", ["a,b", "c"], "bytes", [Buffer.from("a"), Buffer.from("b"), Buffer.from("c")]],
    ["byte", ["a,b"], "bytes", [Buffer.from("a,b")]],
    ["bytes", ["é"], "bytes", [Buffer.from("é")]],
  ])("makes a tensor of rank 1 of %s and %j", (type, texts, dtype, data) => {
    expect(comparable(textsToTensor(texts, field(type), ampleBudget()))).toEqual({ dtype, shape: [data.length], data });
  });

  test.each([
    ["float", ""],
    ["float", "1,,2"],
    ["float", "one"],
    ["float", "0x10"],
    ["int", "1.5"],
    ["int", "1e3"],
    ["int8", "128"],
    ["uint8", "-1"],
    ["uint64", "18446744073709551616"],
    ["int64", "99999999999999999999999"],
    ["bool", "yes"],
    ["bool", "toString"],
    ["bool", "constructor"],
    ["bool", "__proto__"],
  ])("takes no %s from %j", (type, text) => {
    expect(() => textsToTensor([text], field(type), ampleBudget())).toThrow(
      expect.objectContaining({
        code: "invalid_argument",
        message: expect.stringContaining(`Field "${type}_x" has the value`),
      }),
    );
  });
});

test("a text of digits that is no number is refused in a time in proportion to its length", () => {
  // Quadratic time would be longer than a test may take.
  const text = `${"1".repeat(1_000_000)}x`;
  expect(() => textsToTensor([text], field("float"), ampleBudget())).toThrow("has the value");
});

describe("filesToTensor", () => {
  const FILE = Buffer.of(0, 1, 200);

  test.each<[string, string, number[], unknown[]]>([
    ["byte", "bytes", [], [FILE]],
    ["string", "bytes", [], [FILE]],
    ["bytes", "bytes", [1], [FILE]],
    ["strings", "bytes", [1], [FILE]],
    ["float", "float32", [3], [0, 1, 200]],
    ["double", "float64", [3], [0, 1, 200]],
    ["int", "int64", [3], [0n, 1n, 200n]],
    ["uint64", "uint64", [3], [0n, 1n, 200n]],
    ["int32", "int32", [3], [0, 1, 200]],
    ["uint8", "uint8", [3], [0, 1, 200]],
    ["int8", "int8", [3], [0, 1, -56]],
    ["bool", "bool", [3], [0, 1, 1]],
  ])("takes a file of %s for %s of shape %j", (type, dtype, shape, data) => {
    expect(comparable(filesToTensor([FILE], field(type), ampleBudget()))).toEqual({ dtype, shape, data });
  });

  test("takes several files as several elements of bytes, and of nothing else", () => {
    expect(filesToTensor([FILE, FILE], field("bytes"), ampleBudget()).shape).toEqual([2]);
    expect(() => filesToTensor([FILE, FILE], field("byte"), ampleBudget())).toThrow(
      'Field "byte_x" was sent with 2 files',
    );
    expect(() => filesToTensor([FILE, FILE], field("uint8"), ampleBudget())).toThrow(
      'Field "uint8_x" was sent with 2 files',
    );
  });

  test("takes an empty file", () => {
    expect(comparable(filesToTensor([Buffer.alloc(0)], field("float"), ampleBudget())).shape).toEqual([0]);
  });
});
