import { describe, expect, test } from "vitest";
import { outputImageOf, topClasses } from "../../src/page/answer-forms.ts";
import { elementText } from "../../src/page/form-tensor.ts";

const scores = (shape: readonly number[], values: readonly number[]) => ({
  name: "y",
  datatype: "FP32",
  shape,
  values,
});

describe("the best classes of an answer", () => {
  test("are those of each row, with labels", () => {
    const rows = topClasses(scores([2, 3], [0.1, 0.7, 0.2, 1, 0, 0]), ["cat", "dog", "cow"]);
    expect(rows?.map(([best, second]) => [best?.label, best?.score, second?.label])).toEqual([
      ["dog", 0.7, "cow"],
      ["cat", 1, "dog"],
    ]);
  });

  test("are shown without labels where the rows are probabilities, and of any scores with labels", () => {
    expect(topClasses(scores([1, 2], [0.25, 0.75]))?.[0]?.[0]).toEqual({
      ...{ index: 1, score: 0.75 },
      label: undefined,
      part: 0.75,
    });
    expect(topClasses(scores([2], [-4, 4]), ["no", "yes"])?.[0]?.map(({ part }) => part)).toEqual([1, 0]);
    expect(topClasses(scores([2], [-4, 4]))).toBeUndefined();
    expect(topClasses(scores([2], [-4, 4]), ["only one"])).toBeUndefined();
    expect(topClasses(scores([1, 1, 2], [0.5, 0.5]))).toBeUndefined();
    expect(topClasses({ name: "y", datatype: "INT32", shape: [2], values: [1, 0] })).toBeUndefined();
  });
});

describe("an output that is an image", () => {
  test("is seen where some of its values are no numbers", () => {
    const values = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, ...new Array(253).fill(1)];
    const image = outputImageOf(scores([16, 16], values));
    expect(image && "pixels" in image && [...image.pixels.subarray(12, 16)]).toEqual([255, 255, 255, 255]);
  });

  test("is known by its first bytes", () => {
    const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 1);
    expect(outputImageOf({ name: "y", datatype: "BYTES", shape: [1], values: [png] })).toEqual({
      type: "image/png",
      bytes: png,
    });
    expect(
      outputImageOf({ name: "y", datatype: "BYTES", shape: [1], values: [Uint8Array.of(1, 2, 3, 4)] }),
    ).toBeUndefined();
  });

  test("is known by its shape, channels last or first", () => {
    const values = new Array(16 * 16 * 3).fill(0).map((_, index) => (index % 3 === 0 ? 1 : 0));
    const last = outputImageOf(scores([1, 16, 16, 3], values));
    expect(last && "pixels" in last && [last.width, last.height, [...last.pixels.subarray(0, 4)]]).toEqual([
      16,
      16,
      [255, 0, 0, 255],
    ]);
    const first = outputImageOf(scores([3, 16, 20], [...new Array(320).fill(0), ...new Array(640).fill(200)]));
    expect(first && "pixels" in first && [first.width, first.height, [...first.pixels.subarray(0, 4)]]).toEqual([
      20,
      16,
      [0, 200, 200, 255],
    ]);
    for (const shape of [
      [1, 1000],
      [3, 4],
      [2, 16, 16],
      [16, 16, 2],
      [8, 16, 16, 3],
    ]) {
      expect([shape, outputImageOf(scores(shape, new Array(shape.reduce((a, b) => a * b)).fill(0)))]).toEqual([
        shape,
        undefined,
      ]);
    }
  });
});

describe("rows of numbers without a size for channels", () => {
  const rows = (shape: readonly number[], values: (index: number) => number) =>
    outputImageOf(
      scores(
        shape,
        Array.from({ length: shape.reduce((a, b) => a * b) }, (_, index) => values(index)),
      ),
    );

  test("are an image where they are as broad as one, and not below 0", () => {
    expect(rows([1, 48, 16], () => 0.5)).toMatchObject({ width: 16, height: 48 });
    expect(rows([32, 32], (index) => index)).toMatchObject({ width: 32, height: 32 });
  });

  test.each([
    ["a slender one", [1, 512, 16], () => 0.5],
    ["numbers below 0", [1, 32, 32], (index: number) => index - 5],
  ])("are features otherwise: %s", (_, shape, values) => {
    expect(rows(shape, values)).toBeUndefined();
    expect(rows([...shape, 1], values)).toBeDefined();
  });
});

test("elements are short texts for people", () => {
  expect([1.23456789, 3, 9007199254740993n, true, "x".repeat(400)].map(elementText)).toEqual([
    ...["1.23457", "3", "9007199254740993", "true", `${"x".repeat(300)}…`],
  ]);
  expect(elementText(3.0000000054977558e38)).toBe("3e+38");
  expect([new TextEncoder().encode("grüß"), Uint8Array.of(255, 0)].map(elementText)).toEqual(["grüß", "2 bytes"]);
});
