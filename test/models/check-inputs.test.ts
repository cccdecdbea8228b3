import { describe, expect, test } from "vitest";
import { checkInputs } from "../../src/models/check-inputs.ts";
import { toTensor, toTensors } from "../../src/tensor/plain-value.ts";
import type { TensorSpec } from "../../src/tensor/signature/signature.ts";

const specs: readonly TensorSpec[] = [
  { name: "image", dtype: "float32", shape: [-1, { min: 2, max: 8 }, 3] },
  { name: "scale", dtype: "int32", shape: [], default: toTensor(7, "scale") },
];
const image = [
  [
    [0.5, 1, 1],
    [0, 0, 1],
  ],
];
const check = (values: Parameters<typeof toTensors>[0]) => () => checkInputs(toTensors(values), specs);

test("what fits passes, and a default fills in", () => {
  expect(Object.keys(check({ image })())).toEqual(["image", "scale"]);
  expect(check({ image })().scale?.data).toEqual(Int32Array.of(7));
});

test("anything passes where no inputs are declared", () => {
  const tensors = toTensors({ any: 1 });
  expect(checkInputs(tensors, undefined)).toBe(tensors);
});

test("shapes are not compared where the runtime decides, names and dtypes are", () => {
  const specs: readonly TensorSpec[] = [{ name: "x", dtype: "float32", shape: [-1, 1] }];
  const checkTypes = (values: Parameters<typeof toTensors>[0]) =>
    checkInputs(toTensors(values), specs, { shapes: false });
  expect(checkTypes({ x: [0.5, 1] }).x?.shape).toEqual([2]);
  expect(() => checkTypes({ x: [1] })).toThrow("int32");
  expect(() => checkTypes({ y: [0.5] })).toThrow('no input "y"');
});

describe("what does not fit is refused by name", () => {
  const takes = "image float32[-1,2..8,3], scale int32[]";
  test.each([
    ["missing", {}, `Input "image" is missing; the model takes ${takes}.`],
    ["misnamed", { imag: image }, `The model has no input "imag". Did you mean "image"? It takes ${takes}.`],
    [
      "dtype",
      {
        image: [
          [
            [1, 2, 3],
            [1, 2, 3],
          ],
        ],
      },
      'Input "image" is int32; the model takes float32.',
    ],
    ["rank", { image: [0.5] }, 'Input "image" has shape [1]; the model takes [-1,2..8,3].'],
    ["dimension", { image: [[[0.5], [1]]] }, 'Input "image" has shape [1,2,1]; the model takes [-1,2..8,3].'],
    ["range", { image: [[[0.5, 1, 1]]] }, 'Input "image" has shape [1,1,3]; the model takes [-1,2..8,3].'],
  ])("%s", (_, values, message) => {
    expect(check(values)).toThrow(message);
  });
});
