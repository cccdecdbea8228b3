import { describe, expect, test } from "vitest";
import { JsonWriter } from "../../../../src/tensor/codecs/json/json-writer.ts";
import { rowWriter, type TensorStyle, writeTensor } from "../../../../src/tensor/codecs/json/tensor-json.ts";
import { toFloat16 } from "../../../../src/tensor/float16.ts";
import { createTensor, type Tensor } from "../../../../src/tensor/tensor.ts";

const STYLE: TensorStyle = { separator: ", ", bytes: (writer, element) => writer.text(element) };

function written(tensor: Tensor, style: Partial<TensorStyle> = {}): string {
  const writer = new JsonWriter();
  writeTensor(writer, tensor, { ...STYLE, ...style });
  return writer.finish().toString();
}

describe("writeTensor", () => {
  test("refuses lists without end around no values", () => {
    const tensor = createTensor("float32", [2147483647, 0], new Float32Array(0));
    expect(() => written(tensor)).toThrow("An output has shape [2147483647,0], far more lists than values;");
  });

  test.each<[Tensor, string]>([
    [createTensor("bool", [3], Uint8Array.of(1, 0, 7)), "[true, false, true]"],
    [createTensor("uint8", [2], Uint8Array.of(0, 255)), "[0, 255]"],
    [createTensor("uint16", [1], Uint16Array.of(65535)), "[65535]"],
    [createTensor("uint32", [1], Uint32Array.of(4294967295)), "[4294967295]"],
    [createTensor("uint64", [1], BigUint64Array.of(2n ** 64n - 1n)), "[18446744073709551615]"],
    [createTensor("int8", [1], Int8Array.of(-128)), "[-128]"],
    [createTensor("int16", [1], Int16Array.of(-32768)), "[-32768]"],
    [createTensor("int32", [1], Int32Array.of(-2147483648)), "[-2147483648]"],
    [createTensor("int64", [1], BigInt64Array.of(9007199254740993n)), "[9007199254740993]"],
    [createTensor("float16", [2], Uint16Array.of(0x3555, 0x7e00)), "[0.333251953, NaN]"],
    [createTensor("bfloat16", [2], Uint16Array.of(0x3eab, 0xff80)), "[0.333984375, -Infinity]"],
    [createTensor("float32", [2], Float32Array.of(0.1, 2)), "[0.1, 2.0]"],
    [createTensor("float64", [2], Float64Array.of(1 / 3, 1e300)), "[0.33333333333333331, 1e+300]"],
    [createTensor("bytes", [1], [Buffer.from('a "é"')]), '["a \\"é\\""]'],
  ])("writes %o", (tensor, text) => {
    expect(written(tensor)).toBe(text);
  });

  test.each<[number[], string]>([
    [[], "1"],
    [[1], "[1]"],
    [[1, 1, 1], "[[[1]]]"],
    [[2, 0], "[[], []]"],
    [[0], "[]"],
    [[0, 3], "[]"],
    [[2, 3], "[[1, 2, 3], [4, 5, 6]]"],
    [[3, 1, 2], "[[[1, 2]], [[3, 4]], [[5, 6]]]"],
  ])("nests lists like the shape %j", (shape, text) => {
    const count = shape.reduce((product, dim) => product * dim, 1);
    expect(
      written(
        createTensor(
          "int32",
          shape,
          Int32Array.from({ length: count }, (_, index) => index + 1),
        ),
      ),
    ).toBe(text);
  });

  test("uses the style's separator", () => {
    expect(written(createTensor("float32", [2], Float32Array.of(1, Number.NaN)), { separator: "," })).toBe("[1.0,NaN]");
  });

  test.each<[TensorStyle["nonFinite"], string]>([
    [undefined, "[1.0, NaN, Infinity, -Infinity]"],
    ["null", "[1.0, null, null, null]"],
    ["largest", "[1.0, null, 3.40282347e+38, -3.40282347e+38]"],
  ])("writes what is not finite by the rule %s", (nonFinite, text) => {
    const data = Float32Array.of(1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY);
    expect(written(createTensor("float32", [4], data), { nonFinite })).toBe(text);
  });

  test("writes more floats than it converts at once, of every size", () => {
    const numbers = Array.from({ length: 1000 }, (_, index) => index % 128);
    const text = `[${numbers.map((number) => `${number}.0`).join(", ")}]`;
    expect(written(createTensor("float16", [1000], Uint16Array.from(numbers, toFloat16)))).toBe(text);
    expect(written(createTensor("float32", [1000], Float32Array.from(numbers)))).toBe(text);
    expect(written(createTensor("float64", [1000], Float64Array.from(numbers)))).toBe(text);
  });

  test("refuses complex numbers", () => {
    expect(() => written(createTensor("complex64", [1], Float32Array.of(1, 2)))).toThrow(
      expect.objectContaining({
        code: "unimplemented",
        message: "Failed to write JSON value for tensor type: complex64",
      }),
    );
  });
});

describe("rowWriter", () => {
  test("writes one element of the first dimension at a time", () => {
    const writer = new JsonWriter();
    const writeRow = rowWriter(writer, createTensor("int32", [2, 1, 2], Int32Array.of(1, 2, 3, 4)), STYLE);
    writeRow(1);
    writeRow(0);
    expect(writer.finish().toString()).toBe("[[3, 4]][[1, 2]]");
  });
});
