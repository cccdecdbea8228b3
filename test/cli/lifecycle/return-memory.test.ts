import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { returnMemory } from "../../../src/cli/lifecycle/return-memory.ts";
import { bindFunctions, type Pointer, processLibrary } from "../../../src/platform/native/bind-functions.ts";
import { copyToNative } from "../../../src/platform/native/memory.ts";
import { hostPlatform } from "../../../src/storage/runtimes/wheels.ts";

const BLOCK = new Uint8Array(100_000).fill(1);
const BLOCKS = 600;

/** Frees 60 MB in the middle of the heap: its last block stays, so that the heap does not shrink by itself. */
function leaveHoles(): void {
  const { malloc, free } = bindFunctions(
    processLibrary(),
    { malloc: ["void *", "size_t"], free: ["void", "void *"] },
    "The C library",
  );
  const blocks = Array.from({ length: BLOCKS }, () => {
    const block = malloc(BLOCK.length) as Pointer;
    copyToNative(block, BLOCK);
    return block;
  });
  const last = blocks.pop() as Pointer;
  for (const block of blocks) free(block);
  onTestFinished(() => free(last));
}

function residentMb(): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) / 1024;
}

const isGlibc = hostPlatform().glibcMinor !== undefined;

/** Leaves memory free, and waits until it is given back. */
async function expectReturned(options: Parameters<typeof returnMemory>[0]): Promise<void> {
  const before = residentMb();
  leaveHoles();
  expect(residentMb()).toBeGreaterThan(before + 40);
  onTestFinished(returnMemory({ everyMs: 20, busyMs: 0, ...options }));
  await expect.poll(residentMb, { timeout: 10_000, interval: 20 }).toBeLessThan(before + 30);
}

test.runIf(isGlibc)("memory that is free goes back to the system once the program is quiet", async () => {
  await expectReturned({ quietMs: 20 });
});

test.runIf(isGlibc)(
  "memory that is free goes back to the system in time where the program is never quiet",
  async () => {
    await expectReturned({ quietMs: -1, latestMs: 100 });
  },
);
