import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

const [HEAP, GARBAGE] = ["codec-host/collect-large-heap", "limits/young-garbage"].map(
  (module) => new URL(`../../dist/${module}.js`, import.meta.url).href,
);

/** True if V8 was asked to collect in a thread like ours, whose heap is large, of a process of its own. */
function isAskedToCollect(before: string): boolean {
  const inThread = `const large = new ArrayBuffer(1e8); import("${HEAP}").then((m) => m.collectLargeHeap()).then(() => large);`;
  const script = `import("${GARBAGE}").then(({ permitCollections }) => {
    ${before}
    new (require("worker_threads").Worker)(${JSON.stringify(inThread)}, { eval: true });
  })`;
  const { stdout } = spawnSync(process.execPath, ["--trace-gc", "-e", script], { encoding: "utf8" });
  return stdout.includes("testing");
}

test("a thread of an embedder's process changes no flag of V8, and one of our own program may", () => {
  expect([isAskedToCollect(""), isAskedToCollect("permitCollections();")]).toEqual([false, true]);
});
