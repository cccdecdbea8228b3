import { expect, it } from "vitest";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { toTensors } from "../../src/tensor/plain-value.ts";
import { run } from "../helpers/run-pipeline.ts";
import { manage, pipelineVersion } from "./manage.ts";

it("loads at once for a load that needs it, also where another request waits for a place to load it", async () => {
  const manager = await manage([{ name: "idle", versions: [pipelineVersion(1n)] }], { loadThreads: 1 });
  const idle = manager.catalog.get("idle")?.current?.servable;
  await idle?.unload("for the test");
  const ask = (depth: number) => run(idle!, { kind: "tensors", tensors: toTensors({ x: 1 }) }, { limits: { depth } });
  const [begun, opened] = [createDeferred<void>(), createDeferred<void>()];
  const other = pipelineVersion(1n);
  const load = async (signal: AbortSignal) => {
    begun.resolve();
    await opened.promise;
    await ask(1);
    return other.load(signal);
  };
  const models = [
    { name: "idle", versions: [pipelineVersion(1n)] },
    { name: "caller", versions: [{ ...other, load }] },
  ];
  manager.aspire(models);
  await begun.promise;
  const waiting = ask(0);
  // The load that it begins waits for a place by then.
  await new Promise(setImmediate);
  expect(idle?.isLoaded).toBe(false);
  opened.resolve();
  await waiting;
  expect(await manager.settled()).toEqual([]);
  await manager.close();
});
