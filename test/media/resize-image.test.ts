import { describe, expect, it } from "vitest";
import { resizeImage } from "../../src/media/resize-image.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { gradientImage } from "./gradient-image.ts";

describe("resizeImage", () => {
  it("doubles pixels exactly with the nearest kernel", async () => {
    const pair = createTensor("uint8", [1, 2, 3], Uint8Array.of(10, 20, 30, 40, 50, 60));
    const image = await resizeImage(pair, { width: 4, kernel: "nearest" });
    expect(image.shape).toEqual([2, 4, 3]);
    expect([...image.data.subarray(0, 12)]).toEqual([10, 20, 30, 10, 20, 30, 40, 50, 60, 40, 50, 60]);
  });

  it("returns equal pixels where nothing is to change", async () => {
    const image = gradientImage(9, 5);
    expect(await resizeImage(image)).toEqual(image);
  });

  it("keeps the channels of the image, and changes them when asked to", async () => {
    const grey = createTensor("uint8", [1, 2, 1], Uint8Array.of(7, 200));
    expect(await resizeImage(grey)).toEqual(grey);
    expect([...(await resizeImage(grey, { channels: 3 })).data]).toEqual([7, 7, 7, 200, 200, 200]);
    expect([...(await resizeImage(grey, { channels: 4 })).data]).toEqual([7, 7, 7, 255, 200, 200, 200, 255]);
    const rgba = createTensor("uint8", [1, 1, 4], Uint8Array.of(100, 100, 100, 30));
    expect(await resizeImage(rgba)).toEqual(rgba);
    expect([...(await resizeImage(rgba, { channels: 1 })).data]).toEqual([100]);
  });

  it("refuses tensors that are no image", async () => {
    const floats = createTensor("float32", [1, 1, 3], new Float32Array(3));
    await expect(resizeImage(floats)).rejects.toMatchObject({
      code: "invalid_argument",
      message:
        "Tensor float32 [1,1,3] is not an image; expected uint8 [height, width, channels] with 1, 3 or 4 channels.",
    });
    await expect(resizeImage(createTensor("uint8", [2, 2], new Uint8Array(4)))).rejects.toThrow("uint8 [2,2]");
    await expect(resizeImage(createTensor("uint8", [1, 1, 2], new Uint8Array(2)))).rejects.toThrow("uint8 [1,1,2]");
    await expect(resizeImage(createTensor("uint8", [0, 4, 3], new Uint8Array()))).rejects.toThrow("uint8 [0,4,3]");
  });

  it("refuses channels that no image has", async () => {
    await expect(resizeImage(gradientImage(2, 2), { channels: 2 as 3 })).rejects.toThrow("expected 1, 3 or 4");
  });

  it("refuses sizes that are impossible or too large", async () => {
    const image = gradientImage(1, 200);
    await expect(resizeImage(image, { height: 1.5 })).rejects.toThrow("height is 1.5; expected a positive integer");
    await expect(resizeImage(image, { width: 100_000 })).rejects.toThrow("at most 100000000 pixels");
  });
});
