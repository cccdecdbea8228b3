import { describe, expect, it } from "vitest";
import { decodeImage } from "../../../src/tensor/media/decode-image.ts";
import { decodePixels } from "../../../src/tensor/media/decode-pixels.ts";
import { imageFormat } from "../../../src/tensor/media/image-format.ts";

const text = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part))));

interface BitmapHead {
  readonly width?: number;
  readonly height?: number;
  readonly bits?: number;
  readonly compression?: number;
  readonly start?: number;
}

/** A BMP of the pixels' bytes, by default of two pixels of 24 bits. */
function bmp(
  pixels: number[],
  { width = 2, height = 1, bits = 24, compression = 0, start = 54 }: BitmapHead = {},
): Buffer {
  const head = Buffer.alloc(54);
  head.write("BM", "latin1");
  head.writeUInt32LE(start, 10);
  head.writeUInt32LE(40, 14);
  head.writeInt32LE(width, 18);
  head.writeInt32LE(height, 22);
  head.writeUInt16LE(1, 26);
  head.writeUInt16LE(bits, 28);
  head.writeUInt32LE(compression, 30);
  return Buffer.concat([head, Buffer.from(pixels)]);
}

/** One of 16-bit sizes, as OS/2 wrote them. */
function oldBmp(pixels: number[]): Buffer {
  const head = Buffer.from([0x42, 0x4d, 0, 0, 0, 0, 0, 0, 0, 0, 26, 0, 0, 0, 12, 0, 0, 0, 1, 0, 2, 0, 1, 0, 24, 0]);
  return Buffer.concat([head, Buffer.from(pixels)]);
}

const pam = (head: string, samples: number[]) => text(`P7\n${head}\nENDHDR\n`, samples);
const RGB = [1, 2, 3, 4, 5, 6];

describe("an image without compression", () => {
  it.each([
    ["BMP", bmp([3, 2, 1, 6, 5, 4, 0, 0]), [1, 2], 3, RGB],
    ["BMP of OS/2", oldBmp([6, 5, 4, 0, 3, 2, 1, 0]), [2, 1], 3, RGB],
    ["PPM", text("P6 2 1 255\n", RGB), [1, 2], 3, RGB],
    ["PPM with comments", text("P6\n#a\n2#b\n 1\n#c\n255\n", RGB), [1, 2], 3, RGB],
    ["PAM of colours", pam("WIDTH 2\nHEIGHT 1\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB", RGB), [1, 2], 3, RGB],
    ["PAM of bits", pam("WIDTH 3\nHEIGHT 1\nDEPTH 1\nMAXVAL 1", [0, 1, 1]), [1, 3], 1, [0, 255, 255]],
    ["PAM with alpha", pam("DEPTH 2\nWIDTH 1\nHEIGHT 1\nMAXVAL 255", [7, 9]), [1, 1], 4, [7, 7, 7, 9]],
  ])("is decoded: %s", async (_what, file, [height, width], channels, values) => {
    const pixels = await decodePixels(file, { exif: false });
    expect({ ...pixels, data: [...pixels.data] }).toEqual({ width, height, channels, data: values });
  });

  it("is 8-bit RGB in hooks, in the whole range", async () => {
    expect([...(await decodeImage(bmp([3, 2, 1, 6, 5, 4, 0, 0]))).data]).toEqual(RGB);
    expect([...(await decodeImage(text("P5 3 1 1000\n", [0, 0, 1, 244, 3, 232]))).data]).toEqual(
      [0, 128, 255].flatMap((grey) => [grey, grey, grey]),
    );
    expect((await decodeImage(bmp([3, 2, 1, 6, 5, 4, 0, 0]), { width: 4, height: 6, channels: 4 })).shape).toEqual([
      6, 4, 4,
    ]);
  });

  it.each([
    ["BMP without its pixels", bmp([1, 2, 3]), "claims 2 x 1 pixels, which 57 bytes cannot hold"],
    ["BMP of absurd size", bmp([0], { width: 2 ** 31 - 1, height: 2 ** 31 - 1 }), "cannot hold"],
    ["BMP of no size", bmp([0], { width: 0 }), "claims 0 x 1 pixels"],
    ["BMP of a negative width", bmp([0], { width: -2 }), "claims -2 x 1 pixels"],
    ["BMP of the least height", bmp([0], { height: -(2 ** 31) }), "cannot hold"],
    ["BMP whose pixels lie behind its end", bmp([3, 2, 1, 6, 5, 4, 0, 0], { start: 2 ** 32 - 1 }), "cannot hold"],
    [
      "BMP of run lengths",
      bmp([2, 1, 0, 1], { bits: 8, compression: 1 }),
      "compressed by run lengths; save it without",
    ],
    ["BMP with a PNG inside", bmp([0], { compression: 5 }), "compressed by PNG"],
    ["BMP of 5 bits", bmp([0], { bits: 5 }), "a BMP of 5 bits and compression 0, which there is not"],
    ["PGM without its pixels", text("P5 3 3 255\n", [1, 2, 3]), "claims 3 x 3 pixels, which 14 bytes cannot hold"],
    ["PGM of absurd size", text("P5 99999999999999999999 9 255\n"), "cannot hold"],
    ["PGM without a height", text("P5 3"), "a number is missing at byte 4"],
    ["PGM of no values", text("P5 1 1 0\n", [1]), "claims values up to 0"],
    ["PGM of greater values", text("P5 1 1 65536\n", [1, 1, 1]), "claims values up to 65536"],
    ["PPM of too few digits", text("P3 1 1 255\n1 2     "), "a number is missing at byte 19"],
    ["PAM without an end", text("P7\nWIDTH 1\n"), "its header has no end"],
    ["PAM of five samples", pam("WIDTH 1\nHEIGHT 1\nDEPTH 5\nMAXVAL 255", [1, 2, 3, 4, 5]), "have 5 samples"],
    ["PAM without a size", pam("DEPTH 1\nMAXVAL 255", [1]), "claims 0 x 0 pixels"],
  ])("is refused where it is damaged: %s", async (_what, file, message) => {
    expect(imageFormat(file)).toBeDefined();
    const refusal = { code: "invalid_argument", message: expect.stringContaining(message) };
    await expect(decodePixels(file, { exif: false })).rejects.toMatchObject(refusal);
    await expect(decodeImage(file)).rejects.toMatchObject(refusal);
  });

  it("may not have more pixels than allowed", async () => {
    const message = expect.stringContaining("The image has 2 x 1 pixels; at most 1 pixels are accepted.");
    await expect(decodeImage(text("P6 2 1 255\n", RGB), { maxPixels: 1 })).rejects.toMatchObject({ message });
    await expect(decodePixels(text("P6 2 1 255\n", RGB), { exif: false, maxPixels: 1 })).rejects.toMatchObject({
      message,
    });
  });

  it.each([
    ["a PFM", text("PF\n1 1\n-1.0\n")],
    ["a Radiance HDR", text("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n")],
    ["a Sun raster", Buffer.from([0x59, 0xa6, 0x6a, 0x95, 0, 0, 0, 1])],
    ["an OpenEXR", text("v/1\x01\x02\0\0\0")],
    ["a JPEG 2000", text("\0\0\0\x0cjP  \r\n\x87\n")],
    ["a BigTIFF", text("II+\0\x08\0\0\0\x10\0\0\0")],
    ["a HEIC", text("\0\0\0\x18ftypheic\0\0\0\0mif1heic")],
    ["an SVG", text('<svg xmlns="http://www.w3.org/2000/svg"/>')],
  ])("is refused by its name where it is %s", async (name, file) => {
    const message = expect.stringContaining(`it is ${name}, which is not decoded; convert it to PNG; expected JPEG`);
    await expect(decodeImage(file)).rejects.toMatchObject({ code: "invalid_argument", message });
    await expect(decodePixels(file, { exif: false })).rejects.toMatchObject({ code: "invalid_argument", message });
  });

  it.each([
    "BMW is a car, and this text is longer than a header",
    "P5 is a process",
    "P1",
    "P9 1 1",
    "PG 1 1",
    "P7\nwidth 1\n",
  ])("is not seen in %j", (words) => expect(imageFormat(Buffer.from(words))).toBeUndefined());
});
