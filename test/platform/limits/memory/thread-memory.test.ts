import { threadId } from "node:worker_threads";
import { expect, test, vi } from "vitest";
import { threadMemory } from "../../../../src/platform/limits/memory/thread-memory.ts";
import { openProcessCells } from "../../../../src/platform/limits/process-cells.ts";

const KIB = 1024;
/** Shared by all threads: the limits, the memory of requests, then a thread and its memory for each. */
const { cells, isNew } = openProcessCells("kserving.thread-memory", 0);

/** As another thread has it. */
async function openAgain() {
  vi.resetModules();
  return (await import("../../../../src/platform/limits/memory/thread-memory.ts")).threadMemory;
}

test("limits of servers add up in whole kilobytes until they end, and there is none before", async () => {
  expect([isNew, threadMemory.limitBytes]).toEqual([false, Number.POSITIVE_INFINITY]);
  const removals = [1, 1025, 10 * KIB].map((bytes) => threadMemory.addLimit(bytes));
  expect(threadMemory.limitBytes).toBe(13 * KIB);
  expect((await openAgain()).limitBytes).toBe(13 * KIB);
  expect([threadMemory.hasRoom(13 * KIB), threadMemory.hasRoom(13 * KIB + 1)]).toEqual([true, false]);
  for (const remove of removals) remove();
  expect(threadMemory.limitBytes).toBe(Number.POSITIVE_INFINITY);
  // Of eight servers without a limit, the sum has to fit.
  const large = Array.from({ length: 8 }, () => threadMemory.addLimit(2 ** 60));
  expect(threadMemory.limitBytes).toBe(8 * (2 ** 29 - 1) * KIB);
  for (const remove of large) remove();
  const removeLeast = threadMemory.addLimit(0);
  expect(threadMemory.limitBytes).toBe(KIB);
  removeLeast();
  expect(threadMemory.limitBytes).toBe(Number.POSITIVE_INFINITY);
});

test("memory of requests is known at once in its thread, and to others in steps of 64 KB", async () => {
  const other = await openAgain();
  const seen: number[][] = [];
  for (const bytes of [64 * KIB - 1, 1, -64 * KIB + 1, -1, 100 * KIB, -100 * KIB]) {
    threadMemory.addRequestBytes(bytes);
    seen.push([threadMemory.requestBytes, other.requestBytes]);
  }
  expect(seen).toEqual([
    [64 * KIB - 1, 0],
    [64 * KIB, 64 * KIB],
    [1, 64 * KIB],
    [0, 0],
    [100 * KIB, 100 * KIB],
    [0, 0],
  ]);
});

test("memory of threads counts together with that of requests, until they end, and their places are used again", async () => {
  const remove = threadMemory.addLimit(200 * KIB);
  threadMemory.add(1);
  expect([threadMemory.heldBytes, cells[2], cells[3]]).toEqual([KIB, threadId + 1, 1]);
  threadMemory.add(5 * KIB - 1);
  const other = await openAgain();
  other.add(3 * KIB);
  // A thread that this test only writes down.
  cells.set([1000, 7], 6);
  expect([threadMemory.heldBytes, other.heldBytes]).toEqual([15 * KIB, 15 * KIB]);
  threadMemory.addRequestBytes(100 * KIB);
  expect([other.hasRoom(85 * KIB), other.hasRoom(85 * KIB + 1)]).toEqual([true, false]);
  threadMemory.addRequestBytes(-100 * KIB);
  threadMemory.forget(998);
  threadMemory.forget(1000);
  expect(threadMemory.heldBytes).toBe(15 * KIB);
  threadMemory.forget(999);
  expect([threadMemory.heldBytes, ...cells.subarray(6, 8)]).toEqual([8 * KIB, -1, 0]);
  const third = await openAgain();
  third.add(KIB);
  expect([...cells.subarray(6, 10)]).toEqual([threadId + 1, 1, 0, 0]);
  threadMemory.forget(threadId);
  expect(threadMemory.heldBytes).toBe(0);
  remove();
});

test("threads that find no place of their own share the last one", async () => {
  const full = cells.map((cell, at) => (at > 1 && at % 2 === 0 ? 5000 + at : cell));
  const before = cells.slice();
  cells.set(full);
  const late = await openAgain();
  late.add(2 * KIB);
  expect([...cells.subarray(-2)]).toEqual([5000 + cells.length - 2, 2]);
  expect(cells).toHaveLength(2 + 2 * 256);
  expect(late.heldBytes).toBe(2 * KIB);
  cells.set(before);
});
