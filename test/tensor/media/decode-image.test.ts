import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { decodeImage } from "../../../src/tensor/media/decode-image.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";

const RED = { r: 255, g: 0, b: 0 };
const BLUE = { r: 0, g: 0, b: 255 };

/** 40 x 20 pixels, the left half red, the right half blue. */
function redAndBlue() {
  const blue = { create: { width: 20, height: 20, channels: 3 as const, background: BLUE } };
  return sharp({ create: { width: 40, height: 20, channels: 3, background: RED } }).composite([
    { input: blue, left: 20, top: 0 },
  ]);
}

describe("decodeImage", () => {
  it.each(["jpeg", "png", "webp", "gif", "tiff", "avif"] as const)("decodes %s into RGB pixels", async (format) => {
    const image = await decodeImage(await redAndBlue().toFormat(format).toBuffer());
    expect(image).toMatchObject({ dtype: "uint8", shape: [20, 40, 3] });
    const row = 10 * 40 * 3;
    expectNear([...image.data.subarray(row + 15, row + 18)], [255, 0, 0], 6);
    expectNear([...image.data.subarray(row + 105, row + 108)], [0, 0, 255], 6);
  });

  it("takes a bytes tensor of one element, whatever its rank", async () => {
    const png = await redAndBlue().png().toBuffer();
    for (const shape of [[], [1], [1, 1]]) {
      expect((await decodeImage(createTensor("bytes", shape, [png]))).shape).toEqual([20, 40, 3]);
    }
  });

  it("stretches to width and height, and keeps the aspect ratio when one is given", async () => {
    const png = await redAndBlue().png().toBuffer();
    expect((await decodeImage(png, { width: 7, height: 30 })).shape).toEqual([30, 7, 3]);
    expect((await decodeImage(png, { width: 10 })).shape).toEqual([5, 10, 3]);
    expect((await decodeImage(png, { height: 40 })).shape).toEqual([40, 80, 3]);
  });

  it("gives one channel as BT.601 luma", async () => {
    const image = await decodeImage(await redAndBlue().png().toBuffer(), { channels: 1 });
    expect(image.shape).toEqual([20, 40, 1]);
    expect([image.data[0], image.data[39]]).toEqual([Math.round(0.299 * 255), Math.round(0.114 * 255)]);
  });

  it("drops alpha for three channels and gives it for four, opaque where the file has none", async () => {
    const clear = {
      create: { width: 1, height: 1, channels: 4 as const, background: { r: 9, g: 8, b: 7, alpha: 0.2 } },
    };
    const png = await sharp(clear).png().toBuffer();
    expect([...(await decodeImage(png)).data]).toEqual([9, 8, 7]);
    expect([...(await decodeImage(png, { channels: 4 })).data]).toEqual([9, 8, 7, 51]);
    expect((await decodeImage(await redAndBlue().png().toBuffer(), { channels: 4 })).data[3]).toBe(255);
  });

  it("turns the image as EXIF says, unless told not to", async () => {
    const jpeg = await redAndBlue().jpeg().withMetadata({ orientation: 6 }).toBuffer();
    const turned = await decodeImage(jpeg);
    expect(turned.shape).toEqual([40, 20, 3]);
    expectNear([...turned.data.subarray(0, 3)], [255, 0, 0], 6);
    expectNear([...turned.data.subarray(-3)], [0, 0, 255], 6);
    expect((await decodeImage(jpeg, { width: 10 })).shape).toEqual([20, 10, 3]);
    expect((await decodeImage(jpeg, { exif: false })).shape).toEqual([20, 40, 3]);
  });

  it("brings grey, palette, 16-bit and CMYK files to 8-bit RGB", async () => {
    const grey = await redAndBlue().greyscale().png().toBuffer();
    const palette = await redAndBlue().png({ palette: true, colours: 2 }).toBuffer();
    const deep = await redAndBlue().toColourspace("rgb16").png().toBuffer();
    const cmyk = await redAndBlue().toColourspace("cmyk").jpeg().toBuffer();
    for (const file of [grey, palette, deep, cmyk]) {
      expect(await decodeImage(file)).toMatchObject({ dtype: "uint8", shape: [20, 40, 3] });
    }
    expect([...(await decodeImage(palette)).data.subarray(0, 3)]).toEqual([255, 0, 0]);
    expect([...(await decodeImage(deep)).data.subarray(0, 3)]).toEqual([255, 0, 0]);
  });

  it("refuses what is no image, saying what came and what is expected", async () => {
    await expect(decodeImage(Buffer.from("hello world"))).rejects.toMatchObject({
      code: "invalid_argument",
      message:
        '11 bytes that begin with 68656c6c6f20776f ("hello wo") are not an image; expected JPEG, PNG, WebP, GIF, TIFF, AVIF, BMP, PNM.',
    });
    await expect(decodeImage(new Uint8Array())).rejects.toThrow(/^0 bytes are not an image/);
    const refusals = [1, 2].map(() => decodeImage(Buffer.from("hello")).catch((reason: unknown) => reason));
    const [first, second] = await Promise.all(refusals);
    expect(first).toBe(second);
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
    await expect(decodeImage(svg)).rejects.toThrow(/"<svg xml".*not an image/);
  });

  it("refuses a missing input and tensors that hold no encoded image", async () => {
    await expect(decodeImage(undefined)).rejects.toThrow(/^No image came; expected JPEG/);
    const floats = createTensor("float32", [2], new Float32Array(2));
    await expect(decodeImage(floats)).rejects.toThrow("Tensor float32 [2] is not an encoded image");
    const two = createTensor("bytes", [2], [new Uint8Array(1), new Uint8Array(1)]);
    await expect(decodeImage(two)).rejects.toThrow("Tensor bytes [2] is not an encoded image");
  });

  it("refuses a damaged file", async () => {
    const jpeg = await redAndBlue().jpeg().toBuffer();
    await expect(decodeImage(jpeg.subarray(0, jpeg.length - 60))).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^The image is damaged: /),
    });
  });

  it("refuses more pixels than allowed before decoding, and a size that would need more", async () => {
    const png = await redAndBlue().png().toBuffer();
    await expect(decodeImage(png, { maxPixels: 799 })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "The image has 40 x 20 pixels; at most 799 pixels are accepted.",
    });
    await expect(decodeImage(png, { maxPixels: 800, width: 41 })).rejects.toThrow(
      "The resized image has 41 x 21 pixels",
    );
    await expect(decodeImage(png, { width: 0 })).rejects.toThrow("width is 0; expected a positive integer");
  });
});

function expectNear(actual: readonly number[], expected: readonly number[], tolerance: number): void {
  expect(actual).toHaveLength(expected.length);
  for (const [index, value] of expected.entries())
    expect(Math.abs((actual[index] as number) - value)).toBeLessThan(tolerance);
}
