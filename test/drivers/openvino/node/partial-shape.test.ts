import { expect, it } from "vitest";
import { formatShape, parseShape } from "../../../../src/drivers/openvino/node/node-engine.ts";

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
