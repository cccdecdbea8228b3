import { describe, expect, test } from "vitest";
import { parseElement, parseFreeInputs, parseInput, shapeOfValues } from "../../src/page/parse-values.ts";

const read = (datatype: string, shape: string, values: string) => {
  const { shape: sizes, values: elements } = parseInput({ name: "x", datatype, shape, values });
  return [sizes, elements];
};

describe("a written input", () => {
  test("has the shape of its rows, whatever the field for the shape says", () => {
    expect(read("FP32", "9", "[[1, 2.5], [3, 4]]")).toEqual([
      [2, 2],
      [1, 2.5, 3, 4],
    ]);
  });

  test("has the shape of the field where its values are one list, or one value for all", () => {
    expect(read("INT32", "2, 2", "[1, 2, 3, 4]")).toEqual([
      [2, 2],
      [1, 2, 3, 4],
    ]);
    expect(read("FP32", "[1, 2, 3]", "0.5")).toEqual([
      [1, 2, 3],
      [0.5, 0.5, 0.5, 0.5, 0.5, 0.5],
    ]);
    expect(read("FP32", "", "7")).toEqual([[], [7]]);
  });

  test("keeps whole numbers of 64 bits, and takes texts as they are", () => {
    expect(read("INT64", "2", "[9007199254740993, -9223372036854775808]")).toEqual([
      [2],
      [9007199254740993n, -9223372036854775808n],
    ]);
    expect(read("BYTES", "1", "two words")).toEqual([[1], ["two words"]]);
    expect(read("BYTES", "1", "[not JSON")).toEqual([[1], ["[not JSON"]]);
    expect(read("BOOL", "2", "[true, 0]")).toEqual([[2], [true, false]]);
    expect(read("BYTES", "2", '["1234567890123456789", 9007199254740993]')).toEqual([
      [2],
      ["1234567890123456789", "9007199254740993"],
    ]);
    expect(read("UINT64", "2", "[18446744073709551615, 1e3]")).toEqual([[2], [18446744073709551615n, 1000n]]);
  });

  test.each(["2, 3", "2 3", "2x3", "2×3", "[2, 3]", "(2, 3)", "2,3,"])("takes the shape %s", (shape) => {
    expect(read("FP32", shape, "0")[0]).toEqual([2, 3]);
  });

  test("may have no elements, in the shape of the field", () => {
    expect(read("FP32", "0, 3", "[]")).toEqual([[0, 3], []]);
  });

  test.each([
    ["FP32", "1", "[[1, 2], [3]]", "The rows differ: [1] is [1], [0] is [2]."],
    ["FP32", "1", "[[1], 2]", "The rows differ: [1] is one value, [0] is [1]."],
    ["FP32", "3", "[1, 2]", "There are 2 values; the shape [3] has 3."],
    ["FP32", "1", "one", "The values are not JSON"],
    ["FP32", "1", '["one"]', '"one" is not FP32; expected a number.'],
    ["INT8", "1", "[1.5]", "1.5 is not INT8; expected a whole number."],
    ["BOOL", "1", "[2]", "2 is not BOOL; expected true or false."],
    ["INT8", "300", "300", "300 is beyond the numbers of INT8, which are -128 to 127."],
    ["UINT8", "1", "[-1]", "-1 is beyond the numbers of UINT8"],
    ["INT64", "1", "[9223372036854775808]", "9223372036854775808 is beyond the numbers of INT64"],
    ["UINT64", "1", "[-1]", "which are 0 to 18446744073709551615."],
    ["FP16", "300", "65520", "65520 is beyond the numbers of FP16."],
    ["FP32", "1", "[1e39]", "1e+39 is beyond the numbers of FP32."],
    ["FP64", "1", "[1e400]", "beyond the numbers of FP64."],
    ["FP32", "1, -1", "0", '"1, -1" is no shape; expected whole numbers with commas between them, such as 1, 3.'],
    ["FP32", "2,x", "0", '"2,x" is no shape'],
    ["FP32", "2,,3", "0", '"2,,3" is no shape'],
    ["FP32", "two", "0", '"two" is no shape'],
    ["FP32", "1 ".repeat(600), "0", "is no shape"],
    ["FP32", "99999, 99999", "0", "elements; the form makes up to"],
  ])("of %s [%s] %s is refused with what is expected", (datatype, shape, values, message) => {
    expect(() => read(datatype, shape, values)).toThrow(message);
  });
});

describe("the shape of written values", () => {
  test.each([
    ["[1, 2, 3]", [1], [3]],
    ["[1, 2, 3]", [-1], [3]],
    ["[1, 2, 3]", undefined, [3]],
    ["[1, 2, 3]", [1, -1], [1, 3]],
    ["[1, 2, 3]", [-1, 3], [1, 3]],
    ["[1, 2, 3, 4]", [-1, 2], [2, 2]],
    ["[1, 2, 3, 4]", [-1, 2, -1], [1, 2, 2]],
    ["[1, 2, 3, 4]", [2, 2], [2, 2]],
    ["[1, 2, 3]", [-1, 2], [3]],
    ["[1, 2, 3]", [-1, 0], [3]],
    ["[7]", [], []],
    ["[]", [-1, 3], [0, 3]],
    ["[[1, 2], [3, 4]]", [1], [2, 2]],
    ["0.5", [-1, 3], undefined],
    ["[1, 2", [-1], undefined],
    ["[[1, 2], [3]]", [-1], undefined],
  ])("%s for a model of %j is %j", (values, declared, shape) => {
    expect(shapeOfValues({ values, datatype: "FP32" }, declared)).toEqual(shape);
  });
});

describe("one written value", () => {
  test.each([
    ["FP64", "0.5", 0.5],
    ["FP64", " .5 ", 0.5],
    ["FP64", "+1.", 1],
    ["INT64", "9007199254740993", 9007199254740993n],
    ["BOOL", "True", true],
    ["BYTES", " a text ", " a text "],
  ])("of %s is read from %j", (datatype, text, value) => {
    expect(parseElement(text, datatype)).toBe(value);
  });

  test.each([
    ["FP64", "Rome", '"Rome" is not FP64; expected a number.'],
    ["FP64", "[1]", "[1] is not FP64; expected a number."],
    ["FP64", "0x10", '"0x10" is not FP64; expected a number.'],
    ["INT8", "300", "beyond the numbers of INT8"],
    ["BOOL", "2", "expected true or false"],
  ])("of %s is not read from %j", (datatype, text, message) => {
    expect(() => parseElement(text, datatype)).toThrow(message);
  });
});

describe("inputs of any names", () => {
  test("have the datatypes of their values", () => {
    const inputs = parseFreeInputs('{"a": [1, 2], "b": 0.5, "c": "text", "d": [[true], [false]]}');
    expect(inputs).toEqual([
      { name: "a", datatype: "INT64", shape: [2], values: [1n, 2n] },
      { name: "b", datatype: "FP64", shape: [], values: [0.5] },
      { name: "c", datatype: "BYTES", shape: [], values: ["text"] },
      { name: "d", datatype: "BOOL", shape: [2, 1], values: [true, false] },
    ]);
  });

  test("keep whole numbers, and texts that begin as a list does", () => {
    const inputs = parseFreeInputs(
      '{"i": [-9007199254740993], "u": 18446744073709551615, "f": [1e300], "t": ["12345678901234567890"], "l": "[1, 2]"}',
    );
    expect(inputs.map(({ datatype, shape, values }) => [datatype, shape, values])).toEqual([
      ["INT64", [1], [-9007199254740993n]],
      ["UINT64", [], [18446744073709551615n]],
      ["FP64", [1], [1e300]],
      ["BYTES", [1], ["12345678901234567890"]],
      ["BYTES", [], ["[1, 2]"]],
    ]);
  });

  test.each(["[1]", "{", "null"])("are refused as %s", (text) => {
    expect(() => parseFreeInputs(text)).toThrow('an object of inputs such as {"x": [1, 2]}');
  });
});
