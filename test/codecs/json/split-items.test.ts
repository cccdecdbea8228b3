import { describe, expect, test } from "vitest";
import { JsonOutline, type LeftOut } from "../../../src/codecs/json/json-outline.ts";
import { JsonWriter } from "../../../src/codecs/json/json-writer.ts";
import { splitItems } from "../../../src/codecs/json/split-items.ts";
import { type TensorStyle, writeItems, writeTensor } from "../../../src/codecs/json/tensor-json.ts";
import { createTensor, elementCount, type Tensor } from "../../../src/tensor/tensor.ts";

const STYLE: TensorStyle = { separator: ", ", nonFinite: "null", bytes: (writer, element) => writer.text(element) };

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
