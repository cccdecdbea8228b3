import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { readJpegHeader } from "../../../src/tensor/media/jpeg-header.ts";

function image(channels: 1 | 3) {
  const raw = { width: 30, height: 20, channels };
  const image = sharp(Buffer.alloc(30 * 20 * channels, 77), { raw });
  return channels === 1 ? image.toColourspace("b-w") : image;
}

/** The headers of a JPEG whose EXIF has the orientation alone. */
function withOrientation(orientation: number, order: "II" | "MM"): Buffer {
  const tiff = Buffer.alloc(22);
  tiff.write(order);
  const u16 = (value: number, at: number) =>
    order === "II" ? tiff.writeUInt16LE(value, at) : tiff.writeUInt16BE(value, at);
  u16(42, 2);
  if (order === "II") tiff.writeUInt32LE(8, 4);
  else tiff.writeUInt32BE(8, 4);
  u16(1, 8);
  u16(0x0112, 10);
  u16(3, 12);
  if (order === "II") tiff.writeUInt32LE(1, 14);
  else tiff.writeUInt32BE(1, 14);
  u16(orientation, 18);
  const content = Buffer.concat([Buffer.from("Exif\0\0"), tiff]);
  const app1 = Buffer.concat([Buffer.of(0xff, 0xe1, 0, content.length + 2), content]);
  const frame = Buffer.of(0xff, 0xc0, 0, 17, 8, 0, 20, 0, 30, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1);
  return Buffer.concat([Buffer.of(0xff, 0xd8), app1, frame]);
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
      const isProgressive = expect.any(Boolean);
      expect(readJpegHeader(bytes)).toEqual({ width: 30, height: 20, channels, isProgressive, isUpright: true });
    }
  });

  it("says if EXIF turns the image, in both byte orders, beside XMP", async () => {
    for (const [orientation, isUpright] of [
      [1, true],
      [3, false],
      [6, false],
    ] as const) {
      const bytes = await image(3).jpeg().withXmp("<x/>").withMetadata({ orientation }).toBuffer();
      expect(readJpegHeader(bytes)).toMatchObject({ isUpright });
      const start = bytes.indexOf("Exif\0\0") + 6;
      expect(bytes.subarray(start, start + 2).toString()).toBe("II");
      expect(readJpegHeader(withOrientation(orientation, "MM"))).toMatchObject({ isUpright });
    }
  });

  it("says that an image with broken EXIF may be turned", () => {
    const whole = withOrientation(1, "II");
    expect(readJpegHeader(whole)).toMatchObject({ isUpright: true });
    const tiff = 12;
    for (const [at, value] of [
      [tiff, 0],
      [tiff + 4, 200],
      [tiff + 8, 90],
      [tiff + 12, 4],
    ] as const) {
      const broken = Buffer.from(whole);
      broken[at] = value;
      expect(readJpegHeader(broken), `${at}`).toMatchObject({ isUpright: false });
    }
  });

  it("is found behind many segments, and left to the decoder behind more than files have", () => {
    const [start, frame] = [Buffer.of(0xff, 0xd8), withOrientation(1, "II").subarray(2)];
    const behind = (segments: number) =>
      Buffer.concat([start, ...Array<Buffer>(segments).fill(Buffer.of(0xff, 0xe1, 0, 2)), frame]);
    expect(readJpegHeader(behind(1000))).toMatchObject({ width: 30, height: 20 });
    expect(readJpegHeader(behind(5000))).toBeUndefined();
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
