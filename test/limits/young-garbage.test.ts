import { constants, PerformanceObserver } from "node:perf_hooks";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { countGarbage } from "../../src/limits/young-garbage.ts";

const MB = 1024 * 1024;

/** What node:perf_hooks tells of a collection; its types lack it. */
interface CollectionEntry {
  readonly detail: { readonly kind: number; readonly flags: number };
}

/** Resolves with the kind of the first collection that somebody asked for. */
function forcedCollection(): Promise<number> {
  return new Promise((resolve) => {
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as unknown as readonly CollectionEntry[]) {
        const { kind, flags } = entry.detail;
        if ((flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) === 0) continue;
        observer.disconnect();
        resolve(kind);
      }
    });
    observer.observe({ entryTypes: ["gc"] });
  });
}

test("some megabytes of garbage are a reason to collect the young objects, and only these", async () => {
  const kind = forcedCollection();
  for (let bytes = 0; bytes < 8 * MB; bytes += MB) countGarbage(MB);
  expect(await kind).toBe(constants.NODE_PERFORMANCE_GC_MINOR);
});

test("nobody else gets at the collector", () => {
  countGarbage(8 * MB);
  expect(runInNewContext("typeof gc")).toBe("undefined");
});
