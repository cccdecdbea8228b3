import { expect, it } from "vitest";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { manage, pipelineVersion } from "./manage.ts";

it("does not unload what another model has come to need while a load of it was prepared", async () => {
  const scanned = createDeferred<void>();
  const half = { name: "half", versions: [pipelineVersion(1n)] };
  const manager = await manage([half], { refresh: (name) => (name === "half" ? scanned.promise : Promise.resolve()) });
  const loaded = manager.load("half");
  const refused = expect(manager.unload("half")).rejects.toMatchObject({ code: "failed_precondition" });
  manager.aspire([half, { name: "chain", versions: [{ ...pipelineVersion(1n), needs: ["half"] }] }]);
  scanned.resolve();
  await Promise.all([loaded, refused]);
  await manager.settled();
  expect(manager.statuses().map(({ state }) => state)).toEqual(["AVAILABLE", "AVAILABLE"]);
  await manager.close();
});

it("does not unload what was loaded for others alone, and what a client has begun to load meanwhile", async () => {
  const [scans, scanned] = [new Map<string, Promise<void>>(), createDeferred<void>()];
  const chain = { name: "chain", versions: [{ ...pipelineVersion(1n), needs: ["half"] }] };
  const half = { name: "half", versions: [pipelineVersion(1n)] };
  const manager = await manage([half, chain], { refresh: (name) => scans.get(name) ?? Promise.resolve() });
  await manager.unload("half", { dependents: true });
  await manager.load("chain");
  scans.set("half", scanned.promise);
  const loaded = manager.load("half");
  const unloaded = manager.unload("chain", { dependents: true });
  await expect.poll(() => manager.statuses().map(({ state }) => state)).toEqual(["AVAILABLE", "END"]);
  await new Promise(setImmediate);
  scanned.resolve();
  await Promise.all([loaded, unloaded]);
  await manager.settled();
  expect(manager.statuses().map(({ state }) => state)).toEqual(["AVAILABLE", "END"]);
  await manager.unload("chain", { dependents: true });
  expect(manager.statuses().map(({ state }) => state)).toEqual(["AVAILABLE", "END"]);
  await manager.close();
});

it("does not load again for others what a client is about to load, which stays that client's", async () => {
  const [scans, scanned] = [new Map<string, Promise<void>>(), createDeferred<void>()];
  const chain = { name: "chain", versions: [{ ...pipelineVersion(1n), needs: ["half"] }] };
  const half = { name: "half", versions: [pipelineVersion(1n)] };
  const manager = await manage([half, chain], { refresh: (name) => scans.get(name) ?? Promise.resolve() });
  await manager.unload("half", { dependents: true });
  scans.set("half", scanned.promise);
  const loads = [manager.load("half"), manager.load("chain")];
  await new Promise(setImmediate);
  scans.clear();
  scanned.resolve();
  await Promise.all(loads);
  await manager.settled();
  const states = () => manager.statuses().map(({ model, state }) => `${model} ${state}`);
  expect(states().toSorted()).toEqual(["chain AVAILABLE", "half AVAILABLE"]);
  await manager.unload("chain", { dependents: true });
  expect(states().toSorted()).toEqual(["chain END", "half AVAILABLE"]);
  await manager.close();
});

it("loads what a client loads after the models that it needs and that clients have unloaded, and these after theirs", async () => {
  const begun: string[] = [];
  const noted = (name: string, needs: readonly string[]) => {
    const version = pipelineVersion(1n);
    const load = (signal: AbortSignal) => {
      begun.push(name);
      return version.load(signal);
    };
    return { name, versions: [{ ...version, load, needs }] };
  };
  const manager = await manage([
    noted("tower", ["chain", "a"]),
    noted("chain", ["a", "b"]),
    noted("a", []),
    noted("b", []),
  ]);
  await manager.unload("a", { dependents: true });
  begun.length = 0;
  await manager.load("tower");
  expect(begun).toEqual(["a", "chain", "tower"]);
  // What was loaded for others alone goes with the last of them; a client's own stays.
  await manager.unload("tower", { dependents: true });
  const states = manager.statuses().map(({ model, state }) => `${model} ${state}`);
  expect(states.toSorted()).toEqual(["a END", "b AVAILABLE", "chain END", "tower END"]);
  await manager.close();
});
