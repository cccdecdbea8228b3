import { expect, test } from "vitest";
import { readNpy } from "../../../src/codecs/npy/read-npy.ts";
import { writeNpy } from "../../../src/codecs/npy/write-npy.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";

test.each([
  createTensor("float32", [2, 1], new Float32Array([1.5, -2])),
  createTensor("int64", [], new BigInt64Array([2n ** 60n])),
  createTensor("bool", [3], new Uint8Array([1, 0, 1])),
  createTensor("float16", [0, 4], new Uint16Array(0)),
  createTensor("complex64", [1], new Float32Array([1, 2])),
])("a tensor is the same once it is read again: $dtype[$shape]", (tensor) => {
  expect(readNpy(writeNpy(tensor))).toEqual(tensor);
});

test("the data begins at a multiple of 64 bytes, and texts have the length of the longest", () => {
  const texts = [Buffer.from("ab"), Buffer.from("é")];
  const file = writeNpy(createTensor("bytes", [2], [...texts, Buffer.from("xyz")].slice(1)));
  const start = 10 + file.readUInt16LE(8);
  expect(start % 64).toBe(0);
  expect(file.toString("latin1", 0, start)).toContain("'descr': '|S3'");
  expect(file.subarray(start).toString()).toBe("é\0xyz");
});

test("bfloat16, which NumPy does not have, is refused", () => {
  expect(() => writeNpy(createTensor("bfloat16", [1], new Uint16Array(1)))).toThrow("NumPy has no bfloat16");
});
