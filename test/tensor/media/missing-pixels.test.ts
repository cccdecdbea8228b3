import sharp, { type Sharp } from "sharp";
import { describe, expect, it } from "vitest";
import { decodeImage } from "../../../src/tensor/media/decode-image.ts";
import { decodePixels } from "../../../src/tensor/media/decode-pixels.ts";
import type { ImageFormat } from "../../../src/tensor/media/image-format.ts";
import { missingPixels } from "../../../src/tensor/media/missing-pixels.ts";

/** Writes the size that a file of a format claims. */
function claim(file: Buffer, format: "png" | "gif" | "jpeg", [width, height]: readonly [number, number]): Buffer {
  const claiming = Buffer.from(file);
  if (format === "png") {
    claiming.writeUInt32BE(width, 16);
    claiming.writeUInt32BE(height, 20);
  } else if (format === "gif") {
    claiming.writeUInt16LE(width, 6);
    claiming.writeUInt16LE(height, 8);
  } else {
    const frame = claiming.indexOf(Buffer.from([0xff, 0xc0]));
    claiming.writeUInt16BE(height, frame + 5);
    claiming.writeUInt16BE(width, frame + 7);
  }
  return claiming;
}

const flat = (side: number) => sharp({ create: { width: side, height: side, channels: 3, background: "#808080" } });

describe("missingPixels", () => {
  it.each(["png", "gif", "jpeg"] as const)("finds a %s that claims more than its bytes can hold", async (format) => {
    const small = await flat(16).toFormat(format).toBuffer();
    expect(missingPixels(small, format)).toBeUndefined();
    const hostile = claim(small, format, [9000, 9000]);
    expect(missingPixels(hostile, format)).toMatch(/^its header claims 9000 x 9000 pixels, which \d+ bytes of/);
    await expect(decodeImage(hostile)).rejects.toThrow(/^The image is damaged: its header claims 9000 x 9000/);
    await expect(decodePixels(hostile, { exif: false })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^Image parsing failed: its header claims 9000 x 9000/),
    });
  });

  it.each([
    ["png", () => flat(1500).png({ compressionLevel: 9, palette: true })],
    ["png", () => flat(1500).png({ compressionLevel: 9 })],
    ["gif", () => flat(1500).gif()],
    ["jpeg", () => flat(1500).greyscale().jpeg({ quality: 1 })],
    ["jpeg", () => flat(1500).jpeg({ quality: 1, progressive: true, optimiseScans: true })],
  ] satisfies [ImageFormat, () => Sharp][])(
    "lets a %s of one colour pass, as small as it gets",
    async (format, make) => {
      const file = await make().toBuffer();
      expect(missingPixels(file, format)).toBeUndefined();
      expect((await decodeImage(file, { width: 8, height: 8 })).shape).toEqual([8, 8, 3]);
    },
  );
});
