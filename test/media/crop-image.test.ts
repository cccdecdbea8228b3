import { describe, expect, it } from "vitest";
import { cropImage } from "../../src/media/crop-image.ts";
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
