import { expect, test } from "vitest";
import { bindFunctions, type Pointer, processLibrary } from "../../../src/platform/native/bind-functions.ts";
import { copyFromNative, copyToNative } from "../../../src/platform/native/memory.ts";

const { malloc, free } = bindFunctions(
  processLibrary(),
  { malloc: ["void *", "size_t"], free: ["void", "void *"] },
  "The C library",
);

test.each([
  ["an array of its own", Float32Array.of(1, 2, 3)],
  ["a part of an array", Float32Array.of(0, 1, 2, 3, 4).subarray(1, 4)],
  ["memory that threads share", new Float32Array(new SharedArrayBuffer(12))],
  ["64-bit integers", BigInt64Array.of(-1n, 2n ** 62n)],
  ["no elements", new Uint8Array()],
])("copies %s to native memory and back", (_what, source) => {
  const pointer = malloc(64) as Pointer;
  copyToNative(pointer, source);
  const bytes = copyFromNative(new Uint8Array(source.byteLength), pointer);
  free(pointer);
  expect(bytes).toEqual(new Uint8Array(source.slice().buffer));
});

test("writes no further than the array that it fills", () => {
  const pointer = malloc(64) as Pointer;
  copyToNative(pointer, new Uint8Array(64).fill(9));
  const all = new Uint8Array(8);
  copyFromNative(all.subarray(2, 4), pointer);
  free(pointer);
  expect([...all]).toEqual([0, 0, 9, 9, 0, 0, 0, 0]);
});
