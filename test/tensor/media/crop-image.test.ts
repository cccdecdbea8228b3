import { describe, expect, it, test } from "vitest";
import { boxCorners, minAreaBox } from "../../../src/tensor/media/projection.ts";
import { cropImage, cropQuad } from "../../../src/tensor/media/resize-image.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { gradientImage } from "./gradient-image.ts";

describe("cropImage", () => {
  const image = gradientImage(10, 8);

  it("cuts out exactly the pixels of the box", async () => {
    const crop = await cropImage(image, { left: 3, top: 2, width: 2, height: 2 });
    expect(crop.shape).toEqual([2, 2, 3]);
    expect([...crop.data]).toEqual([3, 2, 0, 4, 2, 0, 3, 3, 0, 4, 3, 0]);
  });

  it("leaves away what lies beyond the edges", async () => {
    const crop = await cropImage(image, { left: -5, top: 6, width: 7, height: 50 });
    expect(crop.shape).toEqual([2, 2, 3]);
    expect([...crop.data]).toEqual([0, 6, 0, 1, 6, 0, 0, 7, 0, 1, 7, 0]);
  });

  it("rounds fractions", async () => {
    const crop = await cropImage(image, { left: 2.6, top: 0.4, width: 1.1, height: 0.9 });
    expect([...crop.data]).toEqual([3, 0, 0]);
  });

  it("resizes the crop and changes its channels", async () => {
    const crop = await cropImage(image, { left: 0, top: 0, width: 5, height: 5 }, { width: 3, height: 7, channels: 1 });
    expect(crop.shape).toEqual([7, 3, 1]);
  });

  it("refuses a box without any pixel of the image", async () => {
    await expect(cropImage(image, { left: 10, top: 0, width: 5, height: 5 })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "Box left 10, top 0, width 5, height 5 has no pixel of the 10 x 8 image.",
    });
    await expect(cropImage(image, { left: 1, top: 1, width: 0, height: 5 })).rejects.toThrow("has no pixel");
    await expect(cropImage(image, { left: Number.NaN, top: 1, width: 2, height: 5 })).rejects.toThrow("has no pixel");
  });
});

const point = (x: number, y: number) => ({ x, y });
const upright = [point(2, 1), point(6, 1), point(6, 4), point(2, 4)];

describe("cropQuad", () => {
  test("of an upright rectangle gives its pixels", () => {
    const crop = cropQuad(gradientImage(10, 8), upright);
    expect(crop.shape).toEqual([3, 4, 3]);
    expect([...crop.data.subarray(0, 6)]).toEqual([2, 1, 0, 3, 1, 0]);
  });

  test("turns a quarter when the corners begin at the right", () => {
    const [a, b, c, d] = upright as [
      (typeof upright)[0],
      (typeof upright)[0],
      (typeof upright)[0],
      (typeof upright)[0],
    ];
    const crop = cropQuad(gradientImage(10, 8), [b, c, d, a]);
    expect(crop.shape).toEqual([4, 3, 3]);
    expect([...crop.data.subarray(0, 6)]).toEqual([6, 1, 0, 6, 2, 0]);
  });

  test("repeats the edge beyond the image, and keeps grey grey", () => {
    const grey = createTensor("uint8", [1, 2, 1], Uint8Array.of(10, 20));
    const crop = cropQuad(grey, [point(-2, 0), point(2, 0), point(2, 1), point(-2, 1)]);
    expect(crop).toEqual(createTensor("uint8", [1, 4, 1], Uint8Array.of(10, 10, 10, 20)));
  });

  test.each([
    ["three corners", upright.slice(1), {}, "not four points"],
    ["a corner that is no number", [point(Number.NaN, 0), ...upright.slice(1)], {}, "not four points"],
    ["no corners", undefined, {}, "not four points"],
    ["corners on one line", [0, 1, 2, 3].map((x) => point(x, x)), {}, "lie on one line"],
    ["one point", [0, 0, 0, 0].map((x) => point(x, x)), {}, "lie on one line"],
    ["a width of 0", upright, { width: 0 }, "its width is 0; expected a positive number"],
    ["a height that is no number", upright, { height: Number.NaN }, "its height is NaN"],
    ["too many pixels", upright, { width: 1e5, height: 1e5 }, "at most 100000000 pixels"],
  ])("refuses %s", (_, corners, options, message) => {
    expect(() => cropQuad(gradientImage(10, 8), corners as never, options)).toThrow(message);
  });

  test("refuses what is no image", () => {
    expect(() => cropQuad(createTensor("float32", [1], Float32Array.of(1)), upright)).toThrow("is not an image");
  });
});

describe("a rotated box", () => {
  test("has its corners clockwise from its own left upper one", () => {
    const [first] = boxCorners({ centerX: 5, centerY: 5, width: 4, height: 2, angle: 90 });
    expect([first.x, first.y].map((each) => Math.round(each * 1e6) / 1e6)).toEqual([6, 3]);
    expect(() => boxCorners({ centerX: 5, centerY: 5, width: 4, height: 2, angle: Number.NaN })).toThrow(
      "not finite numbers",
    );
  });

  test("is found around points again", () => {
    const box = { centerX: 50, centerY: 40, width: 30, height: 10, angle: 20 };
    const found = minAreaBox(boxCorners(box));
    for (const [name, value] of Object.entries(box)) expect(found[name as "angle"]).toBeCloseTo(value, 6);
  });

  test("around one point, or points on a line, has no area; around none it is refused", () => {
    expect(minAreaBox([point(3, 4)])).toMatchObject({ centerX: 3, centerY: 4, width: 0, height: 0 });
    expect(minAreaBox([point(0, 0), point(4, 0), point(2, 0)])).toMatchObject({ width: 4, height: 0, angle: 0 });
    expect(() => minAreaBox([])).toThrow("expected at least one point");
    expect(() => minAreaBox([point(Number.NaN, 0)])).toThrow("not finite numbers");
  });
});
