import { describe, expect, it } from "vitest";
import { drawBoxes } from "../../../src/tensor/media/encode-image.ts";
import { createTensor, type Tensor } from "../../../src/tensor/tensor.ts";

describe("drawBoxes", () => {
  const black = createTensor("uint8", [100, 200, 3], new Uint8Array(100 * 200 * 3));

  it("draws the rectangle's edge in its colour and leaves the inside and outside alone", async () => {
    const image = await drawBoxes(black, [{ left: 50, top: 20, right: 150, bottom: 80, color: "#ff0000" }]);
    expect(image.shape).toEqual([100, 200, 3]);
    expect(pixel(image, 50, 50)[0]).toBeGreaterThan(100);
    expect(pixel(image, 100, 80)[0]).toBeGreaterThan(100);
    expect(pixel(image, 100, 50)).toEqual([0, 0, 0]);
    expect(pixel(image, 20, 50)).toEqual([0, 0, 0]);
  });

  it("writes the label above the box, and inside a box that touches the upper edge", async () => {
    const above = await drawBoxes(black, [{ left: 50, top: 40, right: 150, bottom: 90, label: "happy" }]);
    expect(litPixels(above, { left: 50, top: 20, right: 150, bottom: 38 })).toBeGreaterThan(20);
    const inside = await drawBoxes(black, [{ left: 50, top: 0, right: 150, bottom: 90, label: "happy" }]);
    expect(litPixels(inside, { left: 53, top: 3, right: 147, bottom: 20 })).toBeGreaterThan(20);
  });

  it("takes labels and colours as text, never as markup", async () => {
    const label = '</text><rect width="200" height="100" fill="red"/>"&\u0000';
    const color = '"/><rect width="200" height="100" fill="red"/>';
    const image = await drawBoxes(black, [{ left: 10, top: 60, right: 30, bottom: 90, label, color }]);
    expect(pixel(image, 190, 10)).toEqual([0, 0, 0]);
  });

  it("keeps the channels of the image, and the image itself unchanged", async () => {
    const grey = createTensor("uint8", [50, 50, 1], new Uint8Array(2500));
    const drawn = await drawBoxes(grey, [{ left: 10, top: 10, right: 40, bottom: 40, color: "white" }]);
    expect(drawn.shape).toEqual([50, 50, 1]);
    expect(drawn.data.some((value) => value > 100)).toBe(true);
    expect(grey.data.every((value) => value === 0)).toBe(true);
    expect(await drawBoxes(black, [])).toEqual(black);
  });

  it("refuses what is no image", async () => {
    const floats = createTensor("float32", [3], new Float32Array(3));
    await expect(drawBoxes(floats, [])).rejects.toMatchObject({ code: "invalid_argument" });
  });
});

function pixel(image: Tensor<"uint8">, x: number, y: number): number[] {
  const at = (y * (image.shape[1] as number) + x) * 3;
  return [...image.data.subarray(at, at + 3)];
}

/** Pixels of the region that are clearly not black. */
function litPixels(
  image: Tensor<"uint8">,
  region: { left: number; top: number; right: number; bottom: number },
): number {
  let count = 0;
  for (let y = region.top; y < region.bottom; y++) {
    for (let x = region.left; x < region.right; x++) if (Math.max(...pixel(image, x, y)) > 100) count++;
  }
  return count;
}
