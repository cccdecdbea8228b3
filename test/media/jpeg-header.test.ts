import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { readJpegHeader } from "../../src/media/jpeg-header.ts";

function image(channels: 1 | 3) {
  const raw = { width: 30, height: 20, channels };
  const image = sharp(Buffer.alloc(30 * 20 * channels, 77), { raw });
  return channels === 1 ? image.toColourspace("b-w") : image;
}

describe("the frame header of a JPEG", () => {
  it.each([
    ["baseline", { progressive: false }],
    ["progressive", { progressive: true }],
    ["optimised", { mozjpeg: true }],
  ])("is found in a %s one", async (_, options) => {
    for (const channels of [1, 3] as const) {
      const bytes = await image(channels)
        .withExif({ IFD0: { Copyright: "x".repeat(300) } })
        .jpeg(options)
        .toBuffer();
      expect(readJpegHeader(bytes)).toEqual({ width: 30, height: 20, channels, isProgressive: expect.any(Boolean) });
    }
  });

  it("is left to the decoder where it is unusual or cut off", async () => {
    const cmyk = await image(3).toColourspace("cmyk").jpeg().toBuffer();
    expect(readJpegHeader(cmyk)).toBeUndefined();
    const plain = await image(3).jpeg().toBuffer();
    const frame = plain.indexOf(Buffer.of(0xff, 0xc0));
    for (let length = 0; length < frame + 10; length++) {
      expect(readJpegHeader(plain.subarray(0, length))).toBeUndefined();
    }
    expect(readJpegHeader(Buffer.of(0xff, 0xd8, 0xff, 0xe0, 0, 0, 0xff, 0xe0, 0, 0, 0, 0))).toBeUndefined();
  });
});
