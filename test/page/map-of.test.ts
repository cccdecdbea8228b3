import { expect, test } from "vitest";
import { mapOf, type Sides } from "../../src/page/overlay-forms.ts";

const map = (shape: readonly number[], values: readonly number[], sides?: Sides) =>
  mapOf({ name: "map", datatype: "FP32", shape, values }, sides);
const alphas = (pixels: Uint8ClampedArray | undefined) => [...(pixels ?? [])].filter((_, at) => at % 4 === 3);

test.each([
  ["[H, W]", [8, 10]],
  ["[1, H, W]", [1, 8, 10]],
  ["[1, 1, H, W]", [1, 1, 8, 10]],
  ["[1, H, W, 1]", [1, 8, 10, 1]],
])("one value for each place of %s is heat, from nothing to the highest", (_, shape) => {
  const found = map(shape, [0.5, ...new Array(78).fill(0), 1]);
  expect([found?.width, found?.height]).toEqual([10, 8]);
  expect([alphas(found?.pixels).at(0), alphas(found?.pixels).at(1), alphas(found?.pixels).at(-1)]).toEqual([
    100, 0, 200,
  ]);
});

test("places without a number are nothing, and do not hide the others", () => {
  const found = map([8, 8], [Number.NaN, 1, ...new Array(62).fill(0)]);
  expect(alphas(found?.pixels).slice(0, 3)).toEqual([0, 200, 0]);
});

test("several values for each place are classes, of which the first is the background", () => {
  const planes = [...new Array(64).fill(0.5), 0.9, ...new Array(63).fill(0.1)];
  const rows = Array.from({ length: 64 }, (_, at) => [0.5, at === 0 ? 0.9 : 0.1]).flat();
  const expected = [150, ...new Array(63).fill(0)];
  expect(alphas(map([1, 2, 8, 8], planes)?.pixels)).toEqual(expected);
  expect(alphas(map([1, 8, 8, 2], rows)?.pixels)).toEqual(expected);
});

test.each([
  ["an image", [1, 8, 8, 3]],
  ["an image by planes", [1, 3, 8, 8]],
  ["features", [1, 64, 4, 4]],
  ["scores", [1, 64]],
])("%s is no map", (_, shape) => {
  expect(map(shape, new Array(shape.reduce((one, other) => one * other)).fill(1))).toBeUndefined();
});

test.each([
  ["slender rows", [1, 64, 16], 1, undefined],
  ["numbers below 0 without a size for classes", [1, 16, 16], -1, undefined],
  ["a grid that is much coarser than the image", [1, 64, 8, 8], 1, { width: 224, height: 224 }],
  ["another form than the image's", [1, 32, 16], 1, { width: 64, height: 64 }],
])("features are no map: %s", (_, shape, value, sides) => {
  expect(map(shape, new Array(shape.reduce((one, other) => one * other)).fill(value), sides)).toBeUndefined();
});

test("a map is the model's image in a coarser grid", () => {
  expect(map([1, 21, 28, 28], new Array(21 * 28 * 28).fill(1), { width: 224, height: 224 })).toBeDefined();
});
