import { expect, test } from "vitest";
import { copiedBytes, whileCounted } from "../../src/models/while-counted.ts";
import { threadMemory } from "../../src/platform/limits/memory/thread-memory.ts";
import { createTensor, createTensors } from "../../src/tensor/tensor.ts";

const LARGE = createTensors([["x", createTensor("float32", [100_000], new Float32Array(100_000))]]);
const SMALL = createTensors([["x", createTensor("float32", [10], new Float32Array(10))]]);

test("copies of large inputs count, each of them", () => {
  expect([copiedBytes(LARGE, 1), copiedBytes(LARGE, 2), copiedBytes(SMALL, 2)]).toEqual([400_000, 800_000, 0]);
});

test("what a run takes counts until it is over, or has failed", async () => {
  const held: number[] = [];
  const before = threadMemory.heldBytes;
  const look = async () => void held.push(threadMemory.heldBytes - before);
  await whileCounted(2 ** 20, look);
  await expect(
    whileCounted(2 ** 20, async () => {
      await look();
      throw new Error("failed");
    }),
  ).rejects.toThrow("failed");
  await look();
  expect(held).toEqual([2 ** 20, 2 ** 20, 0]);
});
