import { describe, expect, test } from "vitest";
import { toModelInput } from "../../../src/models/images/to-model-input.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";

const image = createTensor("uint8", [1, 2, 3], Uint8Array.of(10, 20, 30, 110, 120, 130));
const numbers = (tensor: { data: unknown }) => [...(tensor.data as Float32Array)];

describe("toModelInput", () => {
  test("puts channels first, in the order red, green, blue", () => {
    const input = toModelInput(image);
    expect(input).toMatchObject({ dtype: "float32", shape: [1, 3, 1, 2] });
    expect(numbers(input)).toEqual([10, 110, 20, 120, 30, 130]);
  });

  test("takes layout, order, mean, scale, dtype and size", () => {
    const input = toModelInput(image, { layout: "NHWC", colorFormat: "BGR", mean: [30, 20, 10], scale: 2 });
    expect([input.shape, numbers(input)]).toEqual([
      [1, 1, 2, 3],
      [0, 0, 0, 50, 50, 50],
    ]);
    expect(toModelInput(image, { width: 4, height: 4, dtype: "uint8" })).toMatchObject({
      dtype: "uint8",
      shape: [1, 3, 4, 4],
    });
    expect(numbers(toModelInput(image, { colorFormat: "GRAY" }))).toEqual([18, 118]);
  });

  test("keeps the values of images that have the size and 8 bits, in every order and dtype", () => {
    const other = createTensor("uint8", [1, 2, 3], Uint8Array.of(0, 1, 2, 253, 254, 255));
    const options = { layout: "NHWC", colorFormat: "BGR", dtype: "uint8" } as const;
    const last = [30, 20, 10, 130, 120, 110, 2, 1, 0, 255, 254, 253];
    expect(toModelInput([image, other], options)).toMatchObject({ dtype: "uint8", data: Uint8Array.from(last) });
    const first = [30, 130, 20, 120, 10, 110, 2, 255, 1, 254, 0, 253];
    for (const dtype of ["uint8", "uint16", "int16", "int32", "float32", "float64"] as const)
      expect(numbers(toModelInput([image, other], { colorFormat: "BGR", dtype }))).toEqual(first);
    expect(numbers(toModelInput(other, { dtype: "int8" }))).toEqual([0, 127, 1, 127, 2, 127]);
    const grey = toModelInput(other, { colorFormat: "GRAY", dtype: "uint8" });
    expect([grey.shape, numbers(grey)]).toEqual([
      [1, 1, 1, 2],
      [1, 254],
    ]);
  });

  test("stacks several images, and gives those of different sizes one size", () => {
    const tall = createTensor("uint8", [2, 1, 3], Uint8Array.of(1, 1, 1, 2, 2, 2));
    expect(toModelInput([image, image]).shape).toEqual([2, 3, 1, 2]);
    expect(toModelInput([image, tall], { width: 2, height: 2, fit: "letterbox" }).shape).toEqual([2, 3, 2, 2]);
    expect(() => toModelInput([image, tall])).toThrow("the images differ in width; give the width that all shall have");
  });

  test.each([
    [[], {}, "there is no image"],
    [createTensor("float32", [1, 1, 3], new Float32Array(3)), {}, "is not an image"],
    [image, { width: 0 }, "width is 0; expected a positive integer"],
    [image, { mean: [1, 2] }, "mean is [1,2]; expected one finite number, or 3"],
    [image, { mean: Number.NaN }, "mean is [NaN]"],
    [image, { scale: 0 }, "scale is [0]; expected one finite number, or 3, other than 0"],
    [image, { layout: "HWC" as "NHWC" }, 'layout is "HWC"; expected NCHW, NHWC'],
    [image, { fit: "cover" as "crop" }, 'fit is "cover"; expected stretch, crop, letterbox'],
    [image, { dtype: "int64" as const }, "Images do not become int64"],
  ])("refuses %o with %o", (images, options, message) => {
    expect(() => toModelInput(images, options)).toThrow(message);
  });
});
