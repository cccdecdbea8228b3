import { describe, expect, it, test } from "vitest";
import { letterboxOf, resizeImage } from "../../../src/tensor/media/resize-image.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
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

/** An image all of one value. */
const plain = (width: number, height: number, value = 200) =>
  createTensor("uint8", [height, width, 3], new Uint8Array(width * height * 3).fill(value));

/** Range of an image's pixels of that value. */
function extent({ shape, data }: { shape: readonly number[]; data: Uint8Array }, value = 200) {
  const [height = 0, width = 0] = shape;
  const isInside = (x: number, y: number) => data[(y * width + x) * 3] === value;
  const [xs, ys] = [Array.from({ length: width }, (_, x) => x), Array.from({ length: height }, (_, y) => y)];
  const columns = xs.filter((x) => ys.some((y) => isInside(x, y)));
  const rows = ys.filter((y) => xs.some((x) => isInside(x, y)));
  return { left: columns[0], top: rows[0], width: columns.length, height: rows.length };
}

describe("a letterbox", () => {
  test("has the image where letterboxOf says, for sizes of all kinds", async () => {
    for (let seed = 1; seed < 60; seed++) {
      const image = plain(1 + ((seed * 37) % 90), 1 + ((seed * 53) % 70));
      const size = { width: 5 + ((seed * 29) % 64), height: 5 + ((seed * 17) % 64) };
      for (const align of ["center", "start"] as const) {
        const drawn = await resizeImage(image, {
          ...size,
          fit: "letterbox",
          align,
          background: [1, 2, 3],
          kernel: "linear",
        });
        const { left, top, width, height } = letterboxOf(image, { ...size, align });
        expect(drawn.shape).toEqual([size.height, size.width, 3]);
        expect(extent(drawn)).toEqual({ left, top, width, height });
      }
    }
  });

  test("is black around the image unless a colour is given", async () => {
    const size = { width: 4, height: 8, fit: "letterbox" } as const;
    expect([...(await resizeImage(plain(2, 2), size)).data.subarray(0, 3)]).toEqual([0, 0, 0]);
    expect([...(await resizeImage(plain(2, 2), { ...size, background: [114, 115, 116] })).data.subarray(0, 3)]).toEqual(
      [114, 115, 116],
    );
    const grey = await resizeImage(plain(2, 2), { ...size, background: [114, 114, 114], channels: 1 });
    expect(grey.data[0]).toBe(114);
  });

  test("maps boxes back to the image, and cuts off what lies beyond it", () => {
    const { toImage } = letterboxOf(plain(200, 100), { width: 64, height: 64 });
    expect(toImage({ left: 0, top: 16, right: 64, bottom: 48 })).toEqual({ left: 0, top: 0, right: 200, bottom: 100 });
    expect(toImage({ left: 32, top: 32, right: 80, bottom: 64 })).toEqual({
      left: 100,
      top: 50,
      right: 200,
      bottom: 100,
    });
  });

  test.each([
    [{ fit: "contain" as "letterbox", width: 4, height: 4 }, 'fit is "contain"; expected stretch or letterbox'],
    [{ fit: "letterbox" as const, width: 4 }, "letterbox needs width and height"],
    [{ fit: "letterbox" as const, width: 4, height: 4, background: [300, 0, 0] as const }, "background"],
    [{ fit: "letterbox" as const, width: 4, height: 4, align: "left" as "start" }, 'align is "left"'],
  ])("refuses %o", async (options, message) => {
    await expect(resizeImage(plain(2, 2), options)).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining(message),
    });
  });

  test("of no image, or without a size, is refused", () => {
    expect(() => letterboxOf(createTensor("uint8", [1], Uint8Array.of(1)), { width: 1, height: 1 })).toThrow(
      "not an image",
    );
    expect(() => letterboxOf(plain(2, 2), { width: 0, height: 1 })).toThrow("width is 0");
  });
});
