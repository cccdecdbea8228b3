import { expect, it, test } from "vitest";
import { readNpy, writeNpy } from "../../../src/tensor/codecs/npy.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";

/** A file as numpy.save writes it. */
function npy(header: string, data: Uint8Array, version = 1): Buffer {
  const length = Buffer.alloc(version === 1 ? 2 : 4);
  if (version === 1) length.writeUInt16LE(header.length);
  else length.writeUInt32LE(header.length);
  return Buffer.concat([
    Buffer.from(`\x93NUMPY${String.fromCharCode(version)}\0`, "latin1"),
    length,
    Buffer.from(header),
    data,
  ]);
}

const FLOATS = new Uint8Array(Float32Array.of(1, 2.5).buffer);
const header = (descr: string, shape: string, fortran = "False") =>
  `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': (${shape}), }\n`;

it.each([1, 2, 3])("reads version %i", (version) => {
  const tensor = readNpy(npy(header("<f4", "1, 2"), FLOATS, version));
  expect(tensor).toEqual({ dtype: "float32", shape: [1, 2], data: Float32Array.of(1, 2.5) });
});

it.each([
  ["|u1", "3,", Uint8Array.of(1, 2, 3), { dtype: "uint8", shape: [3], data: Uint8Array.of(1, 2, 3) }],
  ["|b1", "", Uint8Array.of(1), { dtype: "bool", shape: [], data: Uint8Array.of(1) }],
  ["<i8", "0, 4", new Uint8Array(0), { dtype: "int64", shape: [0, 4], data: new BigInt64Array(0) }],
])("reads %s of shape (%s)", (descr, shape, data, expected) => {
  expect(readNpy(npy(header(descr, shape), data))).toEqual(expected);
});

it.each([
  ["no such file", Buffer.from("PK\x03\x04............"), "it does not begin as such a file does"],
  ["big-endian numbers", npy(header(">f4", "2,"), FLOATS), "its numbers are big-endian"],
  ["Fortran order", npy(header("<f4", "2,", "True"), FLOATS), "it is in Fortran order"],
  ["objects", npy(header("|O", "2,"), FLOATS), "its dtype is not one of numbers"],
  [
    "a shape that its data does not have",
    npy(header("<f4", "3,"), FLOATS),
    "its shape [3] needs 12 bytes, but it has 8",
  ],
  ["a shape of more than can be counted", npy(header("<f4", "99999999, 99999999, 9999999"), FLOATS), "more elements"],
  ["lists without values", npy(header("<f4", "2147483647, 0"), new Uint8Array(0)), "has far more lists than values"],
  [
    "values in too many lists",
    npy(header("|u1", `${"1,".repeat(60)} 100000, ${"1,".repeat(60)}`), new Uint8Array(100_000)),
    "has far more lists than values",
  ],
  ["a header longer than the file", npy(header("<f4", "2,"), FLOATS).subarray(0, 40), "its header is cut short"],
])("refuses %s", (_, bytes, message) => {
  expect(() => readNpy(bytes)).toThrow(message);
});

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
