import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { builtModule } from "../helpers/built-module.ts";

/** True if V8 was asked to collect in a thread like ours, whose heap is large, of a process of its own. */
function isAskedToCollect(before: string): boolean {
  const [heap, garbage] = ["codec-host/collect-large-heap", "limits/memory/young-garbage"].map((module) =>
    builtModule(`src/${module}.ts`),
  );
  const inThread = `const large = new ArrayBuffer(1e8); import("${heap}").then((m) => m.collectLargeHeap()).then(() => large);`;
  const script = `import("${garbage}").then(({ permitCollections }) => {
    ${before}
    new (require("worker_threads").Worker)(${JSON.stringify(inThread)}, { eval: true });
  })`;
  const { stdout } = spawnSync(process.execPath, ["--trace-gc", "-e", script], { encoding: "utf8" });
  return stdout.includes("testing");
}

test("a thread of an embedder's process changes no flag of V8, and one of our own program may", () => {
  expect([isAskedToCollect(""), isAskedToCollect("permitCollections();")]).toEqual([false, true]);
});
