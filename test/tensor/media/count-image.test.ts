import { expect, test } from "vitest";
import { threadMemory } from "../../../src/platform/limits/memory/thread-memory.ts";
import { cropImage, cropQuad, resizeImage } from "../../../src/tensor/media/resize-image.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";

const SIDE = 1024;
const BYTES = 3 * SIDE * SIDE;
const image = createTensor("uint8", [64, 64, 3], new Uint8Array(3 * 64 * 64));
const size = { width: SIDE, height: SIDE };
const corners = [
  { x: 0, y: 0 },
  { x: 64, y: 0 },
  { x: 64, y: 64 },
  { x: 0, y: 64 },
];
/** Images count until they are collected, which is not to happen during a test. */
const kept = new Set<unknown>();

test.each([
  ["resizeImage", () => resizeImage(image, size)],
  ["cropImage", () => cropImage(image, { left: 0, top: 0, width: 32, height: 32 }, size)],
  ["cropQuad", async () => cropQuad(image, corners, size)],
])("%s makes images that count, large ones", async (_, make) => {
  const before = threadMemory.heldBytes;
  const made = await make();
  kept.add(made);
  expect(threadMemory.heldBytes - before).toBe(BYTES);
  expect(made.data.byteLength).toBe(BYTES);
});

test("small images do not count", async () => {
  const before = threadMemory.heldBytes;
  kept.add(await resizeImage(image, { width: 32 }));
  // Images of other tests may be collected meanwhile.
  expect(threadMemory.heldBytes).toBeLessThanOrEqual(before);
});
