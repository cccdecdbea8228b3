import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { minAreaBox } from "../../../src/tensor/media/projection.ts";
import { cropQuad } from "../../../src/tensor/media/resize-image.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { missingPython, PYTHON } from "../../helpers/missing-python.ts";

const missing = missingPython("Rotated and perspective crops against OpenCV", "cv2");

interface Case {
  readonly shape: number[];
  readonly image: string;
  readonly corners: [number, number][];
  readonly size: [number, number];
  readonly crop: string;
  readonly points: [number, number][];
  readonly center: [number, number];
  readonly area: number;
}

function readCases(): Case[] {
  const script = new URL("opencv-crops.py", import.meta.url).pathname;
  const printed = execFileSync(PYTHON, [script, "60", process.env.KSERVING_TEST_SEED ?? "1"], {
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  return printed
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const toPoints = (points: [number, number][]) => points.map(([x, y]) => ({ x, y }));

describe.skipIf(missing)("on 60 random images", () => {
  const cases = missing ? [] : readCases();

  test("a perspective crop is warpPerspective's, by 2 levels at most: OpenCV rounds coordinates to 1/32 of a pixel", () => {
    for (const {
      shape,
      image,
      corners,
      size: [width, height],
      crop,
    } of cases) {
      const tensor = createTensor("uint8", shape, new Uint8Array(Buffer.from(image, "base64")));
      const { data } = cropQuad(tensor, toPoints(corners), { width, height });
      const expected = Buffer.from(crop, "base64");
      expect(data).toHaveLength(expected.length);
      expect(
        Math.max(...data.map((value, index) => Math.abs(value - (expected[index] as number)))),
      ).toBeLessThanOrEqual(2);
    }
  });

  test("the box of the least area is minAreaRect's", () => {
    for (const { points, area } of cases) {
      const box = minAreaBox(toPoints(points));
      expect(Math.abs(box.width * box.height - area)).toBeLessThan(0.01 * Math.max(1, area));
    }
  });
});
