import { expect, test } from "vitest";
import { exampleValues, isImageInput } from "../../src/protocols/example-values.ts";
import type { Signature, TensorSpec } from "../../src/tensor/signature/signature.ts";
import { createTensor } from "../../src/tensor/tensor.ts";

/** The example of a single input. */
function exampleOf(input: Omit<TensorSpec, "name">): unknown {
  return exampleValues({ inputs: [{ name: "x", ...input }] })?.x;
}

test("open sizes are 1, those of a range its least", () => {
  expect(exampleOf({ dtype: "float32", shape: [-1, 2] })).toEqual([[1, 1]]);
  expect(
    exampleOf({
      dtype: "float32",
      shape: [
        { min: 2, max: 9 },
        { min: 0, max: 9 },
      ],
    }),
  ).toEqual([[1], [1]]);
  expect(exampleOf({ dtype: "int8", shape: [] })).toBe(1);
});

test("a text is a, a truth value true", () => {
  expect(exampleOf({ dtype: "bytes", shape: [-1] })).toEqual(["a"]);
  expect(exampleOf({ dtype: "bool", shape: [1, 1] })).toEqual([[true]]);
});

test("an input of images gets one, with as many channels", () => {
  const [grey, colour] = [1, 3].map((channels) => exampleOf({ dtype: "float32", shape: [-1, 64, 64, channels] }));
  expect(grey).toEqual([{ b64: expect.stringMatching(/^iVBORw0KGgo/) }]);
  expect(colour).not.toEqual(grey);
});

test("bytes are images by a word of their name, and numbers by their shape", () => {
  const isImage = (name: string, input: Partial<TensorSpec> = {}) => isImageInput({ name, dtype: "bytes", ...input });
  const images = ["photo", "images", "byte_image", "frame-1", "inputImage", "imageBytes", "IMAGE"];
  const others = ["image_url", "imageIds", "framework", "photograph_name", "pictures_path", "text"];
  expect(images.filter((name) => !isImage(name))).toEqual([]);
  expect(others.filter((name) => isImage(name))).toEqual([]);
  expect(isImage("photo", { categories: ["a", "b"] })).toBe(false);
  expect(isImage("frame", { dtype: "int32", shape: [-1, 1] })).toBe(false);
  expect(isImage("x", { dtype: "uint8", shape: [-1, 8, 8, 3] })).toBe(true);
});

test("an input of any rank gets a list", () => {
  expect(exampleOf({ dtype: "uint8" })).toEqual([1]);
});

test("an input with a value of its own is left out", () => {
  const y: TensorSpec = { name: "y", dtype: "int32", default: createTensor("int32", [1], Int32Array.of(7)) };
  expect(exampleValues({ inputs: [{ name: "x", dtype: "int32", shape: [] }, y] })).toEqual({ x: 1 });
});

test("inputs that are only suggested are taken, with any dtype", () => {
  expect(exampleValues({ suggestedInputs: [{ name: "x", shape: [-1, 3] }] })).toEqual({ x: [[1, 1, 1]] });
});

test.each<[string, Signature]>([
  ["takes any inputs", {}],
  ["has none", { inputs: [] }],
  ["names them alone", { inputNames: ["x"] }],
  ["takes one that nobody reads", { inputs: [{ name: "x", dtype: "uint8", shape: [1, 1000] }] }],
  ["takes one that JSON cannot have", { inputs: [{ name: "x", dtype: "complex64", shape: [1] }] }],
])("a model that %s has no example", (_, signature) => {
  expect(exampleValues(signature)).toBeUndefined();
});
