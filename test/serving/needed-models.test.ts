import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createDeferred } from "../../src/platform/async/promises.ts";
import type { ModelManager } from "../../src/serving/model-manager.ts";
import type { Servable } from "../../src/serving/servable.ts";
import { Turns } from "../../src/serving/turns.ts";
import type { TargetPursuit } from "../../src/serving/version-target.ts";
import { manage, pipelineVersion } from "./manage.ts";

const versionOf = (load: () => Promise<Servable>, ...needs: readonly string[]) => ({
  version: 1n,
  fingerprint: "",
  needs,
  load,
});

const statesOf = (manager: ModelManager) =>
  manager.statuses().map(({ model, version, state }) => `${model} ${version} ${state}`);

/** A version whose load goes on when it is opened. */
function heldVersion() {
  const [begun, opened] = [createDeferred<void>(), createDeferred<void>()];
  const ready = pipelineVersion(1n);
  const load = async (signal: AbortSignal) => {
    begun.resolve();
    await opened.promise;
    return ready.load(signal);
  };
  return { version: { ...ready, load }, begun: begun.promise, open: opened.resolve };
}

describe("a version that needs another model", () => {
  it("waits for it without a place of the gate, says after the load timeout for what, and loads in the end", async () => {
    const held = createDeferred<void>();
    const first = pipelineVersion(1n);
    const slow = versionOf(async () => {
      await held.promise;
      return first.load(new AbortController().signal);
    });
    const chain = versionOf(pipelineVersion(1n).load as () => Promise<Servable>, "slow");
    const other = versionOf(pipelineVersion(1n).load as () => Promise<Servable>);
    const manager = await manage([], { loadThreads: 2, loadTimeoutMs: 0 });
    const late = await manage([], { loadThreads: 1, loadTimeoutMs: 50 });
    const models = [
      { name: "chain", versions: [chain] },
      { name: "slow", versions: [slow] },
      { name: "other", versions: [other] },
    ];
    manager.aspire(models);
    const stateOf = (name: string) => manager.statuses().find(({ model }) => model === name)?.state;
    await expect.poll(() => stateOf("other"), { timeout: 20_000 }).toBe("AVAILABLE");
    expect([stateOf("chain"), stateOf("slow")]).toEqual(["START", "LOADING"]);
    late.aspire([
      { name: "chain", versions: [chain] },
      { name: "slow", versions: [versionOf(() => new Promise(() => {}))] },
    ]);
    const error = () => late.statuses().find(({ model }) => model === "chain")?.error;
    await expect.poll(error, { timeout: 20_000 }).toBeDefined();
    expect(error()?.message).toMatch(
      /^It needs the model "slow", which (is still loading\. It was waited for 50 ms \(--load-timeout\), and is waited for further|could not be loaded: Version 1 has not loaded within 50 ms)/,
    );
    held.resolve();
    expect(await manager.settled()).toEqual([]);
    expect(stateOf("chain")).toBe("AVAILABLE");
    await Promise.all([manager.close(), late.close()]);
  });

  it("waits for all of its versions where it names one", async () => {
    const held = createDeferred<void>();
    const late = pipelineVersion(1n);
    const load = async (signal: AbortSignal) => {
      await held.promise;
      return late.load(signal);
    };
    const half = { name: "half", versions: [{ ...late, load }, pipelineVersion(2n)] };
    const chain = (name: string, needsVersions: boolean) => ({
      name,
      versions: [{ ...pipelineVersion(1n), needs: ["half"], needsVersions }],
    });
    const manager = await manage([], { loadThreads: 4 });
    manager.aspire([half, chain("naming", true), chain("any", false)]);
    const stateOf = (name: string) => manager.statuses().find(({ model }) => model === name)?.state;
    await expect.poll(() => stateOf("any"), { timeout: 20_000 }).toBe("AVAILABLE");
    expect(stateOf("naming")).toBe("START");
    held.resolve();
    expect(await manager.settled()).toEqual([]);
    expect(stateOf("naming")).toBe("AVAILABLE");
    await manager.close();
  });

  it("is not missed where only it is removed, and reports a needed model that is removed", async () => {
    const half = { name: "half", versions: [pipelineVersion(1n)] };
    const chain = { name: "chain", versions: [{ ...pipelineVersion(1n), needs: ["half"] }] };
    const manager = await manage([half, chain]);
    manager.aspire([chain]);
    const status = () => manager.statuses().find(({ model }) => model === "chain");
    await expect.poll(() => status()?.error?.message, { timeout: 20_000 }).toContain("which is not served");
    expect([status()?.state, manager.isReady()]).toEqual(["AVAILABLE", false]);
    manager.aspire([half, chain]);
    await manager.settled();
    expect([status()?.error, manager.isReady()]).toEqual([undefined, true]);
    await manager.close();
  });

  it("is not planned again for changes of others once it has ended", async () => {
    const halfOf = (fingerprint: string) => ({ name: "half", versions: [{ ...pipelineVersion(1n), fingerprint }] });
    const chain = { name: "chain", versions: [{ ...pipelineVersion(1n), needs: ["half"] }] };
    const manager = await manage([halfOf("1"), chain]);
    const planned = vi.spyOn(Turns.prototype, "takeSoon");
    onTestFinished(() => planned.mockRestore());
    const areOfChain = () =>
      planned.mock.calls.some(([one]) => (one as Partial<TargetPursuit>).loaded?.aspired?.needs?.includes("half"));
    manager.aspire([halfOf("2"), chain]);
    await manager.settled();
    expect(areOfChain()).toBe(true);
    manager.aspire([halfOf("2")]);
    await manager.settled();
    await expect.poll(() => manager.statuses().map(({ model }) => model)).toEqual(["half"]);
    planned.mockClear();
    manager.aspire([halfOf("3")]);
    await manager.settled();
    expect(areOfChain()).toBe(false);
    await manager.close();
  });
});

describe("a model that is not needed any more", () => {
  it("stays until what needed it is replaced", async () => {
    const held = heldVersion();
    const chain = (need: string) => ({
      name: "chain",
      versions: [{ ...pipelineVersion(1n), fingerprint: need, needs: [need] }],
    });
    const manager = await manage([{ name: "old", versions: [pipelineVersion(1n)] }, chain("old")]);
    manager.aspire([{ name: "new", versions: [held.version] }, chain("new")]);
    await held.begun;
    expect(statesOf(manager)).toEqual(["old 1 AVAILABLE", "chain 1 AVAILABLE", "new 1 LOADING"]);
    expect(manager.statuses().map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
    await expect(manager.unload("old")).rejects.toMatchObject({ code: "failed_precondition" });
    held.open();
    expect(await manager.settled()).toEqual([]);
    expect(statesOf(manager)).toEqual(["chain 1 AVAILABLE", "new 1 AVAILABLE"]);
    await manager.close();
  });

  it("stays until the last requests of what needed it are over", async () => {
    const chain = (need: string) => ({
      name: "chain",
      versions: [{ ...pipelineVersion(1n), fingerprint: need, needs: [need] }],
    });
    const single = (name: string) => ({ name, versions: [pipelineVersion(1n)] });
    const manager = await manage([single("old"), chain("old")]);
    const request = manager.catalog.get("chain")?.current?.servable?.leases;
    request?.take();
    manager.aspire([single("new"), chain("new")]);
    const status = () => manager.statuses().find(({ model }) => model === "chain");
    await expect.poll(() => status()?.generation, { timeout: 20_000 }).toBe(2);
    expect(statesOf(manager)).toContain("old 1 AVAILABLE");
    request?.release();
    await manager.settled();
    expect(statesOf(manager)).toEqual(["chain 1 AVAILABLE", "new 1 AVAILABLE"]);
    await manager.close();
  });

  it("goes where its replacement does not load", async () => {
    const failing = { ...pipelineVersion(1n), load: () => Promise.reject(new Error("no file")) };
    const chain = (need: string) => ({
      name: "chain",
      versions: [{ ...pipelineVersion(1n), fingerprint: need, needs: [need] }],
    });
    const manager = await manage([{ name: "old", versions: [pipelineVersion(1n)] }, chain("old")]);
    manager.aspire([{ name: "new", versions: [failing] }, chain("new")]);
    await manager.settled();
    expect(statesOf(manager)).toEqual(["chain 1 AVAILABLE", "new 1 END"]);
    await manager.close();
  });

  it("does not count as missing where what is loaded does without it", async () => {
    const chain = { name: "chain", versions: [{ ...pipelineVersion(1n), needs: ["half"] }] };
    const manager = await manage([{ name: "half", versions: [pipelineVersion(1n)] }, chain]);
    manager.aspire([chain]);
    const status = () => manager.statuses().find(({ model }) => model === "chain");
    await expect.poll(() => status()?.error?.message, { timeout: 20_000 }).toContain("which is not served");
    manager.aspire([{ name: "chain", versions: [{ ...pipelineVersion(1n), fingerprint: "2" }] }]);
    await manager.settled();
    expect([status()?.error, manager.isReady()]).toEqual([undefined, true]);
    await manager.close();
  });
});

it("keeps a version until what names it has the next one", async () => {
  const held = heldVersion();
  const chain = (number: string, load = pipelineVersion(1n).load) => ({
    name: "chain",
    versions: [{ ...pipelineVersion(1n), fingerprint: number, needs: ["half"], needsVersions: true, load }],
  });
  const manager = await manage([{ name: "half", versions: [pipelineVersion(1n)] }, chain("1")]);
  manager.aspire([{ name: "half", versions: [pipelineVersion(2n)] }, chain("2", held.version.load)]);
  await held.begun;
  expect(statesOf(manager)).toEqual(["half 2 AVAILABLE", "half 1 AVAILABLE", "chain 1 AVAILABLE"]);
  held.open();
  await manager.settled();
  expect(statesOf(manager)).toEqual(["half 2 AVAILABLE", "half 1 END", "chain 1 AVAILABLE"]);
  await manager.close();
});

it("loads on request with all versions of what it needs", async () => {
  const held = createDeferred<void>();
  const late = pipelineVersion(1n);
  const load = async (signal: AbortSignal) => {
    await held.promise;
    return late.load(signal);
  };
  const half = { name: "half", versions: [{ ...late, load }, pipelineVersion(2n)] };
  const chain = { name: "chain", versions: [{ ...pipelineVersion(1n), needs: ["half"] }] };
  const manager = await manage([]);
  manager.aspire([half, chain]);
  const loaded = manager.load("chain").then(() => manager.statuses().map(({ state }) => state));
  const chainState = () => manager.statuses().find(({ model }) => model === "chain")?.state;
  await expect.poll(chainState, { timeout: 20_000 }).toBe("AVAILABLE");
  held.resolve();
  expect(await loaded).toEqual(["AVAILABLE", "AVAILABLE", "AVAILABLE"]);
  await manager.close();
});
