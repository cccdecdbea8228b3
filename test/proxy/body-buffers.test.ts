import { expect, test } from "vitest";
import { BodyBuffers } from "../../src/proxy/body-buffers.ts";

const MB = 1024 * 1024;

test("a large body gets the smallest buffer that is there and holds it", () => {
  const buffers = new BodyBuffers();
  const [large, small] = [new Uint8Array(3 * MB), new Uint8Array(MB)];
  buffers.give(large);
  buffers.give(small.subarray(0, MB / 2));
  expect(buffers.take(MB)?.buffer).toBe(small.buffer);
  expect(buffers.take(MB)?.buffer).toBe(large.buffer);
  expect(buffers.take(MB)).toBeUndefined();
});

test("a buffer that is too small, and one for a small body, are not given", () => {
  const buffers = new BodyBuffers();
  buffers.give(new Uint8Array(MB));
  expect(buffers.take(MB + 1)).toBeUndefined();
  expect(buffers.take(1000)).toBeUndefined();
});

test("small bodies are not kept, which may be views of what others use, nor more than 16 MB", () => {
  const buffers = new BodyBuffers();
  buffers.give(new Uint8Array(MB).subarray(0, 64 * 1024));
  expect(buffers.take(65 * 1024)).toBeUndefined();
  for (let count = 0; count < 5; count++) buffers.give(new Uint8Array(4 * MB));
  const taken = Array.from({ length: 5 }, () => buffers.take(4 * MB)?.length);
  expect(taken).toEqual([4 * MB, 4 * MB, 4 * MB, 4 * MB, undefined]);
});
