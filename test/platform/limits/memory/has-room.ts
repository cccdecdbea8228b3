import type { MemoryBudget } from "../../../../src/platform/limits/memory/memory-budget.ts";

/** Checks that another request could hold so many bytes now. */
export function hasRoom(memory: MemoryBudget, bytes: number): boolean {
  const share = memory.open();
  try {
    // The one byte makes it one of several requests, since one alone may hold anything.
    share.grow(1);
    share.check(bytes);
    return true;
  } catch {
    return false;
  } finally {
    share.release();
  }
}
