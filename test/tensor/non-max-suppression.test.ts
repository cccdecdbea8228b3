import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { nonMaxSuppression } from "../../src/tensor/non-max-suppression.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { missingPython, PYTHON } from "../helpers/missing-python.ts";

const missing = missingPython("nonMaxSuppression against OpenCV", "cv2");
const boxesOf = (...boxes: number[][]) => createTensor("float32", [boxes.length, 4], Float32Array.from(boxes.flat()));
const scoresOf = (...scores: number[]) => createTensor("float32", [scores.length], Float32Array.from(scores));

const PROGRAM = `
import cv2, json, numpy as np
random = np.random.default_rng(1)
for _ in range(100):
    count = int(random.integers(1, 60))
    boxes = np.concatenate([random.random((count, 2)) * 60, 5 + random.random((count, 2)) * 40], axis=1)
    scores = random.permutation(count) / count
    threshold, least = float(random.random()), float(random.random() * 0.5)
    kept = cv2.dnn.NMSBoxes(boxes.tolist(), scores.tolist(), least, threshold)
    print(json.dumps([boxes.tolist(), scores.tolist(), least, threshold, [int(each) for each in kept]]))
`;

test.skipIf(missing)("keeps what cv2.dnn.NMSBoxes keeps, of 100 random sets of boxes", () => {
  const lines = execFileSync(PYTHON, ["-c", PROGRAM], { encoding: "utf8" }).trim().split("\n");
  for (const [boxes, scores, scoreThreshold, iouThreshold, kept] of lines.map((line) => JSON.parse(line))) {
    const tensor = createTensor("float64", [boxes.length, 4], Float64Array.from(boxes.flat()));
    const weights = createTensor("float64", [scores.length], Float64Array.from(scores));
    const options = { scoreThreshold, iouThreshold, format: "size" } as const;
    expect(nonMaxSuppression(tensor, weights, options)).toEqual(kept);
  }
});

const PAIR = boxesOf([0, 0, 10, 10], [1, 1, 11, 11], [50, 50, 60, 60]);

describe("nonMaxSuppression", () => {
  test("keeps the best of overlapping boxes, the best score first", () => {
    expect(nonMaxSuppression(PAIR, scoresOf(0.5, 0.9, 0.7))).toEqual([1, 2]);
    expect(nonMaxSuppression(PAIR, scoresOf(0.5, 0.9, 0.7), { iouThreshold: 0.9 })).toEqual([1, 2, 0]);
    expect(nonMaxSuppression(PAIR, scoresOf(0.5, 0.9, 0.7), { maxBoxes: 1 })).toEqual([1]);
    expect(nonMaxSuppression(PAIR, scoresOf(0.5, 0.9, 0.7), { scoreThreshold: 0.7 })).toEqual([1]);
    expect(nonMaxSuppression(PAIR, scoresOf(0.9, 0.9, 0.9))).toEqual([0, 2]);
  });

  test("lets boxes of other classes be", () => {
    expect(nonMaxSuppression(PAIR, scoresOf(0.5, 0.9, 0.7), { classes: [1, 2, 2] })).toEqual([1, 2, 0]);
    const classes = createTensor("int64", [3], BigInt64Array.of(1n, 1n, 2n));
    expect(nonMaxSuppression(PAIR, scoresOf(0.5, 0.9, 0.7), { classes })).toEqual([1, 2]);
  });

  test("takes boxes by their center", () => {
    const boxes = boxesOf([5, 5, 10, 10], [6, 6, 10, 10], [55, 55, 10, 10]);
    expect(nonMaxSuppression(boxes, scoresOf(0.5, 0.9, 0.7), { format: "center" })).toEqual([1, 2]);
  });

  test("never keeps what is not a number, and takes none at all", () => {
    const boxes = boxesOf([0, 0, Number.NaN, 10], [1, 1, 11, 11], [50, 50, 60, 60]);
    expect(nonMaxSuppression(boxes, scoresOf(0.9, 0.8, Number.NaN))).toEqual([1]);
    expect(nonMaxSuppression(boxesOf(), scoresOf())).toEqual([]);
  });

  test.each([
    [scoresOf(1), {}, "the boxes have shape [3,4]; expected [1,4]"],
    [createTensor("float32", [], Float32Array.of(1)), {}, "the scores have shape []"],
    [
      createTensor(
        "bytes",
        [3],
        [0, 1, 2].map(() => Buffer.from("1")),
      ),
      {},
      "got a bytes tensor",
    ],
    [scoresOf(1, 2, 3), { iouThreshold: Number.NaN }, "iouThreshold is NaN; expected a number"],
    [scoresOf(1, 2, 3), { classes: [1] }, "there are 1 classes for 3 boxes"],
    [scoresOf(1, 2, 3), { format: "yxyx" as "size" }, 'format is "yxyx"; expected corners, size or center'],
  ])("refuses scores %o with %o", (scores, options, message) => {
    expect(() => nonMaxSuppression(PAIR, scores, options)).toThrow(message);
  });
});
