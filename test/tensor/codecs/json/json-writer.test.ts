import { describe, expect, test } from "vitest";
import { JsonOutline, JsonWriter, type LeftOut, splitItems } from "../../../../src/tensor/codecs/json/json-writer.ts";
import { type TensorStyle, writeItems, writeTensor } from "../../../../src/tensor/codecs/json/tensor-json.ts";
import { createTensor, elementCount, type Tensor } from "../../../../src/tensor/tensor.ts";

function written(write: (writer: JsonWriter) => void): string {
  const writer = new JsonWriter();
  write(writer);
  return writer.finish().toString();
}

const STYLE: TensorStyle = { separator: ", ", nonFinite: "null", bytes: (writer, element) => writer.text(element) };

describe("JsonWriter", () => {
  test.each([0, 7, 10, 99, 100, 4294967295, -1, -2147483648, 2147483647, 1_000_000_000, 999_999_999])(
    "writes the integer %d",
    (value) => {
      expect(written((writer) => writer.integer(value))).toBe(String(value));
    },
  );

  test.each([0n, -9223372036854775808n, 18446744073709551615n])("writes the integer %d of 64 bits", (value) => {
    expect(written((writer) => writer.integer(value))).toBe(String(value));
  });

  test.each(["", "plain", 'é 日本 😀 " \\ \u0000', "x".repeat(5000)])("writes the string %.20j", (text) => {
    expect(written((writer) => writer.string(text))).toBe(JSON.stringify(text));
    expect(written((writer) => writer.text(Buffer.from(text)))).toBe(JSON.stringify(text));
  });

  test("writes each character as JSON does, alone and between others", () => {
    for (let code = 0; code <= 0x2100; code++) {
      const text = String.fromCharCode(code);
      for (const one of [text, `ab${text}c`]) {
        expect(written((writer) => writer.string(one))).toBe(JSON.stringify(one));
      }
    }
  });

  test("writes bytes as base64, also from within a larger buffer", () => {
    const bytes = Uint8Array.of(0, 1, 255, 254, 9).subarray(1, 4);
    expect(written((writer) => writer.base64(bytes))).toBe('"Af/+"');
  });

  test("writes to memory that it was given, as long as the text fits", () => {
    const memory = new Uint8Array(8);
    const writer = new JsonWriter(memory.subarray(2));
    writer.ascii("123456");
    expect(writer.finish().buffer).toBe(memory.buffer);
    expect([...memory]).toEqual([0, 0, ...Buffer.from("123456")]);
    writer.ascii("7");
    expect(writer.finish().toString()).toBe("1234567");
    expect(writer.finish().buffer).not.toBe(memory.buffer);
  });

  test("grows as far as it must", () => {
    const text = written((writer) => {
      for (let round = 0; round < 10_000; round++) writer.ascii("0123456789");
      writer.string("é".repeat(50_000));
    });
    expect(text).toBe("0123456789".repeat(10_000) + JSON.stringify("é".repeat(50_000)));
  });
});

function whole(tensor: Tensor): string {
  const writer = new JsonWriter();
  writeTensor(writer, tensor, STYLE);
  return writer.finish().toString();
}

function text(part: Uint8Array | LeftOut): string {
  if (part instanceof Uint8Array) return Buffer.from(part).toString();
  const writer = new JsonWriter();
  writeItems(writer, part.items, { ...part.style, bytes: STYLE.bytes });
  return writer.finish().toString();
}

function floats(shape: readonly number[]): Tensor {
  const values = Float32Array.from({ length: elementCount(shape) }, (_, index) =>
    index % 97 === 0 ? Number.NaN : Math.sin(index),
  );
  return createTensor("float32", shape, values);
}

describe("splitItems", () => {
  test.each<[shape: number[], maxElements: number]>([
    [[5000], 999],
    [[5000], 5000],
    [[1, 60, 85], 1000],
    [[1, 60, 85], 85],
    [[1, 60, 85], 10],
    [[3, 1, 1, 700], 64],
    [[2, 700, 1], 1],
    [[1100, 1], 1000],
    [[2, 3, 0, 4], 1],
    [[0, 7], 5],
  ])("the parts of %j of %d elements each are the text of the whole", (shape, maxElements) => {
    const tensor = floats(shape);
    const parts = [...splitItems({ items: tensor, style: STYLE }, maxElements)];
    expect(`[${parts.map(text).join("")}]`).toBe(whole(tensor));
    for (const part of parts)
      if (!(part instanceof Uint8Array)) expect(elementCount(part.items.shape)).toBeLessThanOrEqual(maxElements);
  });
});

describe("JsonOutline", () => {
  test("lacks the long lists of numbers, and nothing else", () => {
    const outline = new JsonOutline();
    const long = floats([1, 2000]);
    outline.ascii('{"a": ');
    writeTensor(outline, floats([3]), STYLE);
    outline.ascii(', "b": ');
    writeTensor(outline, long, STYLE);
    outline.ascii(', "c": ');
    writeTensor(outline, createTensor("bytes", [1], [Buffer.alloc(5000, "x")]), STYLE);
    outline.ascii("}");
    const parts = outline.parts();
    expect(parts.filter((part) => !(part instanceof Uint8Array))).toHaveLength(1);
    expect(parts.map(text).join("")).toBe(
      `{"a": ${whole(floats([3]))}, "b": ${whole(long)}, "c": ["${"x".repeat(5000)}"]}`,
    );
  });

  test("numbers without a text are refused before anything is written", () => {
    const complex = createTensor("complex64", [4000], new Float32Array(8000));
    expect(() => writeTensor(new JsonOutline(), complex, STYLE)).toThrow(
      "Failed to write JSON value for tensor type: complex64",
    );
  });
});
