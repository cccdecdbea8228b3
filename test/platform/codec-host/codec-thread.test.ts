import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { builtModule } from "../../helpers/built-module.ts";

/** True if V8 was asked to collect in a thread like ours, which has so many bytes, of a process of its own. */
function isAskedToCollect(before: string, bytes = 1e8): boolean {
  const [thread, garbage] = ["platform/codec-host/codec-thread", "platform/limits/memory/young-garbage"].map((module) =>
    builtModule(`src/${module}.ts`),
  );
  // A thread looks at its heap after each job, also after one that does not exist.
  const inThread = `
    const large = new ArrayBuffer(${bytes});
    const { port1, port2 } = new MessageChannel();
    port2.once("message", () => setImmediate(() => port2.close(large)));
    import("${thread}").then(({ runCodecThread }) => {
      runCodecThread(port1);
      port2.postMessage({ module: "none", name: "none", args: { tree: null, views: [] } });
    });`;
  const script = `import("${garbage}").then(async ({ permitCollections }) => {
    ${before}
    new (require("worker_threads").Worker)(${JSON.stringify(inThread)}, { eval: true });
  })`;
  const { stdout } = spawnSync(process.execPath, ["--trace-gc", "-e", script], { encoding: "utf8" });
  return stdout.includes("testing");
}

test("a thread of an embedder's process changes no flag of V8, and one of our own program may", () => {
  expect([isAskedToCollect(""), isAskedToCollect("permitCollections();")]).toEqual([false, true]);
});

test("a thread keeps less garbage where the container has little memory left", () => {
  const room = builtModule("src/platform/limits/memory/container-room.ts");
  const leaves = (bytes: number) =>
    `permitCollections();
    const { containerRoom } = await import("${room}");
    containerRoom.update({ bytes: ${bytes}, of: "this container" });`;
  expect([isAskedToCollect(leaves(1e9), 3e7), isAskedToCollect(leaves(2e8), 3e7)]).toEqual([false, true]);
});
