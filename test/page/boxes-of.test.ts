import { expect, test } from "vitest";
import { boxNotes, boxRowsOf, guessForm, toBoxes } from "../../src/page/overlay-forms.ts";

const SIDES = { width: 200, height: 100 };
const output = (shape: readonly number[], values: readonly number[], datatype = "FP32") => ({
  ...{ name: "boxes", datatype, shape },
  values,
});

test("rows of four to six numbers are boxes, and so are those of SSD, whose order is another", () => {
  expect(boxRowsOf(output([1, 2, 4], [0, 1, 2, 3, 4, 5, 6, 7]))).toEqual([
    [0, 1, 2, 3],
    [4, 5, 6, 7],
  ]);
  expect(boxRowsOf(output([1, 6], [0, 1, 2, 3, 0.9, 7]))).toEqual([[0, 1, 2, 3, 0.9, 7]]);
  expect(boxRowsOf(output([1, 1, 1, 7], [0, 15, 0.9, 0.1, 0.2, 0.3, 0.4]))).toEqual([[0.1, 0.2, 0.3, 0.4, 0.9, 15]]);
});

test.each([
  ["whole numbers", output([1, 4], [0, 1, 2, 3], "INT64")],
  ["two images", output([2, 1, 4], [0, 1, 2, 3, 4, 5, 6, 7])],
  ["one row without a number of rows", output([4], [0, 1, 2, 3])],
  ["seven columns that are not SSD's", output([1, 7], [0, 1, 2, 3, 4, 5, 6])],
  ["more than a thousand rows", output([1001, 4], new Array(4004).fill(0))],
])("%s are no boxes", (_, { ...other }) => {
  expect(boxRowsOf(other)).toBeUndefined();
});

test("boxes in pixels are parts of the image's sides, in every form", () => {
  expect(toBoxes([[20, 10, 60, 30, 0.9, 1]], "x1 y1 x2 y2", SIDES)).toEqual([
    { left: 0.1, top: 0.1, width: 0.2, height: 0.2, score: 0.9, kind: 1 },
  ]);
  const place = { left: 0.25, top: 0.5, width: 0.5, height: 0.25, score: undefined, kind: undefined };
  expect(toBoxes([[0.5, 0.25, 0.75, 0.75]], "y1 x1 y2 x2", SIDES)).toEqual([place]);
  expect(toBoxes([[0.25, 0.5, 0.5, 0.25]], "x y width height", SIDES)).toEqual([place]);
  expect(toBoxes([[0.5, 0.625, 0.5, 0.25]], "centre, width height", SIDES)).toEqual([place]);
});

test("corners are recognised where no second one is before the first", () => {
  expect(guessForm([[0.1, 0.1, 0.2, 0.2]])).toBe("x1 y1 x2 y2");
  expect(guessForm([[0.5, 0.5, 0.2, 0.2]])).toBe("centre, width height");
});

test("outputs with a row for each box say of it a score, a text, a number, or the best class", () => {
  const named = (name: string, shape: readonly number[], values: readonly (number | string)[], datatype = "FP32") => ({
    output: { name, datatype, shape, values },
  });
  const emotions = { ...named("emotion", [2, 3], [0.1, 0.7, 0.2, 3, 1, 2]), labels: ["calm", "happy", "sad"] };
  const kinds = { ...named("kind", [1, 2], [1, 0], "INT64"), labels: ["cat", "dog"] };
  const notes = boxNotes(2, [
    named("scores", [1, 2], [0.5, 0.25]),
    named("word", [2, 1], ["one", "two"], "BYTES"),
    emotions,
    kinds,
    named("detection_classes", [2], [7, 8]),
    named("age", [2], [31, 42]),
    named("points", [2, 10], new Array(20).fill(3)),
    named("of the image", [1, 4], [1, 0, 0, 0]),
  ]);
  expect(notes).toEqual([
    { score: 0.5, texts: ["one", "happy 0.70", "dog", "class 7", "age 31"] },
    { score: 0.25, texts: ["two", "calm 3.00", "cat", "class 8", "age 42"] },
  ]);
});
