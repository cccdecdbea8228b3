import sharp from "sharp";
import { describe, expect, it } from "vitest";
import type { RawOptions } from "../../../src/drivers/option-table.ts";
import { parseHostOptions } from "../../../src/models/host-options.ts";
import { decodeImageInputs } from "../../../src/models/images/image-input.ts";
import type { DType } from "../../../src/tensor/dtype.ts";
import type { Dimension, TensorSpec } from "../../../src/tensor/signature/signature.ts";
import { createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";

type Colour = readonly number[];

/** A PNG of the given rows of RGB, RGBA or grey pixels. */
function png(rows: readonly (readonly Colour[])[]): Promise<Buffer> {
  const [height, width] = [rows.length, rows[0]?.length ?? 0];
  const channels = (rows[0]?.[0]?.length ?? 1) as 1 | 3 | 4;
  const pipeline = sharp(Uint8Array.from(rows.flat(2)), { raw: { width, height, channels } });
  return (channels === 1 ? pipeline.toColourspace("b-w") : pipeline).png().toBuffer();
}

interface Wanted {
  readonly shape: readonly Dimension[];
  readonly dtype?: DType;
  readonly options?: RawOptions;
}

async function decode(images: Uint8Array[], { shape, dtype = "float32", options = {} }: Wanted): Promise<Tensor> {
  const spec: TensorSpec = { name: "x", dtype, shape };
  const inputs = createTensors([["x", createTensor("bytes", [images.length], images)]]);
  return (await decodeImageInputs(inputs, [spec], parseHostOptions(options).images)).x as Tensor;
}

async function values(images: Uint8Array[], wanted: Wanted): Promise<number[]> {
  return Array.from((await decode(images, wanted)).data as ArrayLike<number>);
}

const RED: Colour = [250, 20, 10];
const GREEN: Colour = [0, 200, 0];

describe("an encoded image", () => {
  it("of one pixel becomes its blue, green and red bytes, in every format", async () => {
    const pixel = sharp(Uint8Array.from(RED), { raw: { width: 1, height: 1, channels: 3 } });
    const lossless = [
      pixel.clone().png(),
      pixel.clone().webp({ lossless: true }),
      pixel.clone().tiff({ compression: "lzw" }),
    ];
    for (const image of lossless) {
      expect(await values([await image.toBuffer()], { shape: [1, 1, 1, 3] })).toEqual([10, 20, 250]);
    }
    const jpeg = await values([await pixel.clone().jpeg({ quality: 100 }).toBuffer()], { shape: [1, 1, 1, 3] });
    expect(jpeg.map((value, index) => Math.abs(value - ([10, 20, 250][index] as number)) <= 2)).toEqual([
      true,
      true,
      true,
    ]);
  });

  it("is repeated where a pixel grows, and saturates before that", async () => {
    const image = await png([[RED]]);
    expect(await values([image], { shape: [1, 2, 2, 3] })).toEqual([
      10, 20, 250, 10, 20, 250, 10, 20, 250, 10, 20, 250,
    ]);
    expect(await values([image], { shape: [1, 1, 1, 3], dtype: "int32" })).toEqual([10, 20, 250]);
    expect(await values([image], { shape: [1, 1, 1, 3], dtype: "int8" })).toEqual([10, 20, 127]);
  });

  it("keeps its grey, its alpha and its 16 bits", async () => {
    expect(await values([await png([[[77]]])], { shape: [1, 1, 1, 1] })).toEqual([77]);
    expect(await values([await png([[[...RED, 99]]])], { shape: [1, 1, 1, 4] })).toEqual([10, 20, 250, 99]);
    const deep = sharp(Uint16Array.of(1, 300, 65535), { raw: { width: 1, height: 1, channels: 3 } });
    const image = await deep.toColourspace("rgb16").png().toBuffer();
    expect(await values([image], { shape: [1, 1, 1, 3] })).toEqual([65535, 300, 1]);
    expect(await values([image], { shape: [1, 1, 1, 3], dtype: "uint8" })).toEqual([255, 255, 1]);
  });

  it("lies as the input's shape or the option layout says", async () => {
    const image = await png([[RED, GREEN]]);
    expect(await values([image], { shape: [1, 1, 2, 3] })).toEqual([10, 20, 250, 0, 200, 0]);
    expect(await values([image], { shape: [1, 3, 1, 2] })).toEqual([10, 0, 20, 200, 250, 0]);
    const options = { layout: "NCHW" };
    expect(await values([image], { shape: [1, -1, 1, 2], options })).toEqual([10, 0, 20, 200, 250, 0]);
  });

  it("gets the colours, the mean and the scale that the model was trained with", async () => {
    const image = await png([[RED]]);
    const shape = [1, 1, 1, 3];
    expect(await values([image], { shape, options: { color_format: "RGB" } })).toEqual([...RED]);
    expect(await values([image], { shape: [1, 1, 1, 1], options: { color_format: "GRAY" } })).toEqual([88]);
    const options = { color_format: "RGB", mean: "50,20,0", scale: "2" };
    expect(await values([image], { shape, options })).toEqual([100, 0, 5]);
  });

  it("is cropped or kept whole where its aspect ratio is to stay", async () => {
    const image = await png([[[10], [20], [30], [40]]]);
    const shape = [1, 2, 2, 1];
    expect(await values([image], { shape, options: { resize: "letterbox" } })).toEqual([15, 35, 0, 0]);
    expect(await values([image], { shape: [1, 1, 2, 1], options: { resize: "crop" } })).toEqual([20, 30]);
    const tall = { shape: [1, 4, 4, 1], options: { resize: "letterbox" } };
    expect(await values([image], tall)).toEqual([0, 0, 0, 0, 10, 20, 30, 40, 0, 0, 0, 0, 0, 0, 0, 0]);
  });

  it("is turned by its EXIF orientation only where that is asked for", async () => {
    const upright = await png([[RED, GREEN]]);
    const turned = await sharp(upright).withMetadata({ orientation: 6 }).png().toBuffer();
    expect((await decode([turned], { shape: [1, -1, -1, 3] })).shape).toEqual([1, 1, 2, 3]);
    expect((await decode([turned], { shape: [1, -1, -1, 3], options: { exif: "true" } })).shape).toEqual([1, 2, 1, 3]);
  });

  it("may be base64 text", async () => {
    const text = Buffer.from((await png([[RED]])).toString("base64"));
    expect(await values([text], { shape: [1, 1, 1, 3] })).toEqual([10, 20, 250]);
  });
});

describe("a batch of images", () => {
  it("of different sizes is resized to the input's", async () => {
    const images = [await png([[[1], [1]]]), await png([[[2]], [[2]]])];
    const tensor = await decode(images, { shape: [-1, 1, 1, 1] });
    expect(tensor).toEqual(createTensor("float32", [2, 1, 1, 1], Float32Array.of(1, 2)));
  });

  it("takes the first one's size where the input's is open, within its range", async () => {
    const wide = await png([[[1], [1], [1]]]);
    expect((await decode([wide, wide], { shape: [-1, -1, -1, 1] })).shape).toEqual([2, 1, 3, 1]);
    const range = { min: 4, max: 8 };
    expect((await decode([wide], { shape: [1, range, range, 1] })).shape).toEqual([1, 4, 4, 1]);
  });
});

describe("what is no image for an input is refused", () => {
  const shape = [1, 2, 2, 3];
  it.each<[string, () => Promise<Uint8Array[]>, Wanted, string]>([
    [
      "text",
      async () => [Buffer.from("no image")],
      { shape },
      "Image parsing failed: Input buffer contains unsupported image format; expected JPEG, PNG, WebP, GIF, TIFF, AVIF, BMP, PNM",
    ],
    [
      "the mere beginning of an image",
      async () => [Buffer.of(0xff, 0xd8, 0xff)],
      { shape },
      "corrupt header: VipsJpeg: premature end of JPEG image; expected",
    ],
    ["a zip archive", async () => [Buffer.from("PK\x03\x04aaaaaaaaaaaaaa")], { shape }, "Image parsing failed"],
    [
      "an image cut short",
      async () => [
        (
          await sharp({ create: { width: 99, height: 99, channels: 3, background: "red" } })
            .jpeg()
            .toBuffer()
        ).subarray(0, 300),
      ],
      { shape },
      "Image parsing failed",
    ],
    ["no image at all", async () => [], { shape: [-1, 2, 2, 3] }, "Expected: 1 or more; Actual: 0; input name: x"],
    ["no bytes", async () => [new Uint8Array(0)], { shape }, "Bytes contents is empty"],
    [
      "grey for colours",
      async () => [await png([[[1]]])],
      { shape },
      "Invalid number of channels in binary input - Expected: 3; Actual: 1; input name: x",
    ],
    [
      "colours for grey",
      async () => [await png([[RED]])],
      { shape: [1, 1, 1, 1] },
      "Expected: 1; Actual: 3 (-o color_format=GRAY makes images grey); input name: x",
    ],
    ["alpha for colours", async () => [await png([[[1, 2, 3, 4]]])], { shape }, "Expected: 3; Actual: 4"],
    [
      "two for one",
      async () => [await png([[RED]]), await png([[RED]])],
      { shape },
      "Invalid input batch size - Expected: 1; Actual: 2; input name: x",
    ],
    [
      "another dtype",
      async () => [await png([[RED]])],
      { shape, dtype: "int64" },
      "Invalid input precision - Images do not become int64",
    ],
    [
      "sizes that differ where the input's is open",
      async () => [await png([[RED]]), await png([[RED, RED]])],
      { shape: [-1, -1, -1, 3] },
      "Binary input images for this endpoint are required to have the same resolution",
    ],
  ])("%s", async (_, images, wanted, message) => {
    const refused = { code: "invalid_argument", message: expect.stringContaining(message) };
    await expect(decode(await images(), wanted)).rejects.toMatchObject(refused);
  });

  it("and a bomb, before a pixel of it is decoded", async () => {
    const bomb = await sharp({ create: { width: 12_000, height: 12_000, channels: 3, background: "black" } })
      .png()
      .toBuffer();
    expect(bomb.length).toBeLessThan(1_500_000);
    const refused = { message: expect.stringContaining("12000 x 12000 pixels; at most 100000000") };
    await expect(decode([bomb], { shape })).rejects.toMatchObject(refused);
  });

  it("and more pixels than one input may have, in all images or in what becomes of them", async () => {
    const large = await sharp({ create: { width: 6000, height: 6000, channels: 3, background: "black" } })
      .png()
      .toBuffer();
    const tooMany = decode(new Array(3).fill(large), { shape: [-1, 2, 2, 3] });
    await expect(tooMany).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("6000 x 6000 pixels; at most 28000000 pixels are accepted"),
    });
    const small = await png([[RED]]);
    const grown = decode(new Array(9).fill(small), { shape: [-1, 4000, 3000, 3] });
    await expect(grown).rejects.toMatchObject({ message: expect.stringContaining("3000 x 36000 pixels; at most") });
  });

  it("and options that are no numbers", () => {
    expect(() => parseHostOptions({ mean: "1,2" })).toThrow('The option mean is "1,2"; expected one number');
    expect(() => parseHostOptions({ scale: "0" })).toThrow("numbers other than 0");
  });
});

describe("images whose channels the input leaves open", () => {
  const GREY: Colour = [50];

  it.each([
    ["a grey one after a coloured one", [RED, GREY], "The first image has 3; another has 1"],
    ["a coloured one after a grey one", [GREY, RED], "The first image has 1; another has 3"],
  ])("are refused where they differ: %s", async (_, colours, detail) => {
    const images = await Promise.all(colours.map((colour) => png([[colour]])));
    const wanted: Wanted = { shape: [-1, 2, 2, -1] };
    await expect(decode(images, wanted)).rejects.toMatchObject({
      code: "invalid_argument",
      message: `Invalid number of channels in binary input - ${detail}; input name: x`,
    });
  });

  it.each([
    [GREY, 1],
    [[...RED, 200], 4],
  ])("are refused where the numbers of -o mean are for others: %j", async (colour, channels) => {
    const wanted: Wanted = { shape: [-1, 2, 2, -1], options: { mean: "100,110,120" } };
    await expect(decode([await png([[colour]])], wanted)).rejects.toMatchObject({
      code: "invalid_argument",
      message: `Invalid number of channels in binary input - The option mean has numbers for 3; Actual: ${channels}; input name: x`,
    });
  });
});
