import { spawnSync } from "node:child_process";
import { constants, PerformanceObserver } from "node:perf_hooks";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { countGarbage, permitCollections } from "../../../../src/platform/limits/memory/young-garbage.ts";
import { builtModule } from "../../../helpers/built-module.ts";

const MB = 1024 * 1024;

/** An entry of node:perf_hooks about a collection; its types lack it. */
interface CollectionEntry {
  readonly detail: { readonly kind: number; readonly flags: number };
}

/** Resolves with the kind of the first collection that was asked for. */
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

/** The lines by which V8 tells of the collections in a process of its own. */
function traceOf(module: string, statements: string): string {
  const script = `import("${module}").then(({ collectAll, countGarbage, permitCollections }) => { ${statements} })`;
  const { status, stdout } = spawnSync(process.execPath, ["--trace-gc", "-e", script], { encoding: "utf8" });
  expect(status).toBe(0);
  return stdout;
}

/** Collections that were asked for there, in its main thread or in another one. */
function collectionsOf(module: string, statements: string): number {
  const trace = traceOf(module, statements);
  return trace.split("(testing)").length - 1 || trace.split("testing").length - 1;
}

test("an embedder's process is not asked to collect, nor are its threads", () => {
  const module = builtModule("src/platform/limits/memory/young-garbage.ts");
  const make = "countGarbage(1e9);";
  const inThread = `new (require("worker_threads").Worker)('import("${module}").then((m) => m.countGarbage(1e9))', { eval: true });`;
  const collections = [make, inThread].map((statements) => collectionsOf(module, statements));
  const permitted = [make, inThread].map((statements) => collectionsOf(module, `permitCollections(); ${statements}`));
  expect([collections, permitted]).toEqual([
    [0, 0],
    [1, 1],
  ]);
});

test("four megabytes of garbage are a reason to collect, and no byte less", () => {
  const module = builtModule("src/platform/limits/memory/young-garbage.ts");
  const less = `permitCollections(); countGarbage(${4 * MB - 1});`;
  expect([collectionsOf(module, less), collectionsOf(module, `${less} countGarbage(1);`)]).toEqual([0, 1]);
});

test("all garbage is collected at once where that is permitted, and otherwise soon", () => {
  const module = builtModule("src/platform/limits/memory/young-garbage.ts");
  const several = "for (let time = 0; time < 4; time++) collectAll();";
  expect(traceOf(module, `permitCollections(); ${several}`).match(/Mark-Compact .* testing/g)).toHaveLength(4);
  const trace = traceOf(module, several);
  expect(trace).not.toContain("testing");
  expect(trace).toContain("external memory pressure");
});

test("some megabytes of garbage are a reason to collect the young objects, and only these", async () => {
  permitCollections();
  const kind = forcedCollection();
  for (let bytes = 0; bytes < 8 * MB; bytes += MB) countGarbage(MB);
  expect(await kind).toBe(constants.NODE_PERFORMANCE_GC_MINOR);
});

/** Reports if statements in a process of its own change flags of V8: code compiled before is no use then. */
function hasFlagsOfItsOwn(statements: string): boolean {
  const [garbage, budget] = ["young-garbage", "memory-budget"].map((name) =>
    builtModule(`src/platform/limits/memory/${name}.ts`),
  );
  const script = `
    const { cachedDataVersionTag } = require("node:v8");
    const before = cachedDataVersionTag();
    Promise.all([import("${garbage}"), import("${budget}")]).then(([{ permitCollections }, { MemoryBudget }]) => {
      const share = new MemoryBudget(1e9).open();
      ${statements}
      process.stdout.write(String(cachedDataVersionTag() !== before));
    });`;
  return spawnSync(process.execPath, ["-e", script], { encoding: "utf8" }).stdout === "true";
}

test("flags of V8 are those that Node has compiled its modules for, until a large message comes", () => {
  const small = "permitCollections(); share.grow(1000);";
  const large = "permitCollections(); share.grow(1e6);";
  expect([small, large, "share.grow(1e6);"].map(hasFlagsOfItsOwn)).toEqual([false, true, false]);
});

/** Milliseconds that helpers of V8 spent on each collection of young objects, of which many live on. */
function helpersOf(statements: string): number[] {
  const script = `import("${builtModule("src/platform/limits/memory/young-garbage.ts")}").then((garbage) => {
    ${statements}
    for (let round = 0; round < 8; round++) {
      const kept = Array.from({ length: 60_000 }, (_, index) => [index]);
      garbage.countGarbage(1e9);
      if (kept.length === 0) throw new Error();
    }
  });`;
  const { stdout } = spawnSync(process.execPath, ["--trace-gc", "--trace-gc-nvp", "-e", script], { encoding: "utf8" });
  return Array.from(stdout.matchAll(/\bbackground\.scavenge\.parallel=([\d.]+)/g), ([, ms]) => Number(ms));
}

test("once a large message has come, no collection of young objects waits for other threads", () => {
  const helped = helpersOf("garbage.permitCollections(); garbage.markRarely();");
  expect(helped.length).toBeGreaterThanOrEqual(8);
  expect(Math.max(...helped.slice(-8))).toBe(0);
});

test("no other code can reach the collector", () => {
  permitCollections();
  countGarbage(8 * MB);
  expect(runInNewContext("typeof gc")).toBe("undefined");
});
