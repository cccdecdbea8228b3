import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { decodeImage } from "../../../src/tensor/media/decode-image.ts";
import { encodeImage } from "../../../src/tensor/media/encode-image.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { gradientImage } from "./gradient-image.ts";

describe("encodeImage", () => {
  const image = gradientImage(60, 40);

  it.each(["jpeg", "png", "webp"] as const)("writes %s of the image's size", async (format) => {
    const metadata = await sharp(await encodeImage(image, { format })).metadata();
    expect(metadata).toMatchObject({ format, width: 60, height: 40 });
  });

  it("keeps every pixel in PNG, grey and alpha included", async () => {
    expect(await decodeImage(await encodeImage(image, { format: "png" }))).toEqual(image);
    const grey = createTensor("uint8", [1, 2, 1], Uint8Array.of(3, 250));
    expect(await decodeImage(await encodeImage(grey, { format: "png" }), { channels: 1 })).toEqual(grey);
    const rgba = createTensor("uint8", [1, 1, 4], Uint8Array.of(1, 2, 3, 100));
    expect(await decodeImage(await encodeImage(rgba, { format: "png" }), { channels: 4 })).toEqual(rgba);
  });

  it("writes fewer bytes at lower quality", async () => {
    const small = await encodeImage(image, { format: "jpeg", quality: 10 });
    const large = await encodeImage(image, { format: "jpeg", quality: 100 });
    expect(small.length).toBeLessThan(large.length);
  });

  it("refuses a quality or a format that does not exist", async () => {
    await expect(encodeImage(image, { format: "jpeg", quality: 101 })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "The image quality is 101; expected an integer of 1 to 100.",
    });
    await expect(encodeImage(image, { format: "bmp" as "png" })).rejects.toThrow('Image format "bmp" is unknown');
  });
});
