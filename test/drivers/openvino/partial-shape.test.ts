import { expect, it } from "vitest";
import { formatShape, parseShape, toDimension } from "../../../src/drivers/openvino/partial-shape.ts";

it.each([
  ["one size", [4, 4], 4],
  ["a range", [1, 8], { min: 1, max: 8 }],
  ["any size", [0, -1], -1],
  ["any size that the type holds", [0, 2 ** 31 - 1], -1],
  ["any size of 64 bits", [1, 2 ** 63], -1],
] as const)("bounds of %s are a dimension", (_, [min, max], dimension) => {
  expect(toDimension(min, max)).toEqual(dimension);
});

it.each([
  ["[1,3,224,224]", [1, 3, 224, 224]],
  ["[?,4]", [-1, 4]],
  ["[1..8,?]", [{ min: 1, max: 8 }, -1]],
  ["[]", []],
])("a shape that OpenVINO writes as %s is read and written", (text, shape) => {
  expect(parseShape(text)).toEqual(shape);
  expect(formatShape(shape)).toBe(text);
});

it.each([
  ["[2..,..5]", [-1, { min: 0, max: 5 }]],
  ["[...]", undefined],
])("%s is read as what requests are told of it", (text, shape) => {
  expect(parseShape(text)).toEqual(shape);
});
