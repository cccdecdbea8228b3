import { expect, test } from "vitest";
import { parseNames, parseSpecs } from "../../../src/drivers/python/python-host-options.ts";

test("inputs are read with as much as is said of them", () => {
  expect(parseSpecs("x:float32[-1, 4], ids:int64[],mask:bool,y[2,-1],rest")).toEqual([
    { name: "x", dtype: "float32", shape: [-1, 4] },
    { name: "ids", dtype: "int64", shape: [] },
    { name: "mask", dtype: "bool" },
    { name: "y", shape: [2, -1] },
    { name: "rest" },
  ]);
});

test.each([
  ["", 'Option "inputs" has ""; expected name, name:dtype, name[2,-1] or name:dtype[2,-1], separated by commas.'],
  ["x:float31", 'gives "x" the dtype "float31". Did you mean "float32"?'],
  ["x:float32[a]", "expected sizes of 0 or more, or -1 for any."],
  ["x:float32[-2]", "expected sizes of 0 or more, or -1 for any."],
  ["x,x", 'Option "inputs" has "x" twice.'],
  ["x:float32[1", "expected name, name:dtype"],
])("the inputs %j are refused", (text, message) => {
  expect(() => parseSpecs(text)).toThrow(message);
});

test("outputs are names", () => {
  expect(parseNames("a, b")).toEqual(["a", "b"]);
  expect(() => parseNames("a,,b")).toThrow('Option "outputs" is "a,,b"; expected names separated by commas.');
});
