import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { ServingError } from "../../src/errors.ts";
import { createSilentLogger, type Logger } from "../../src/observability/logger.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import type { AspiredModel, AspiredVersion } from "../../src/serving/aspired-model.ts";
import type { ModelManager } from "../../src/serving/model-manager.ts";
import type { Servable } from "../../src/serving/servable.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { type ManageOptions, manage, pipelineVersion } from "./manage.ts";

/** A manager that notes what becomes of its versions: `1 LOADING`, `1 END no file`. */
async function observe(models: readonly AspiredModel[], options: ManageOptions = {}) {
  const manager = await manage(models, options);
  onTestFinished(() => manager.close());
  const events: string[] = [];
  manager.onState(({ version, state, error }) => {
    events.push(`${version} ${state}${error === undefined ? "" : ` ${error.message}`}`);
  });
  return { manager, events };
}

const model = (...versions: AspiredVersion[]): AspiredModel => ({ name: "m", versions });
const changed = (version: bigint, fingerprint: string, load = pipelineVersion(version).load): AspiredVersion => ({
  version,
  fingerprint,
  load,
});
const failing = (version: bigint, fingerprint = "1") =>
  changed(version, fingerprint, () => Promise.reject(new ServingError("failed_precondition", "no file")));

/** A version whose loads wait until they are told to go on, or given up. */
function heldVersion(version: bigint, fingerprint = "1") {
  const begun = createDeferred<AbortSignal>();
  const opened = createDeferred<void>();
  const load = async (signal: AbortSignal): Promise<Servable> => {
    begun.resolve(signal);
    await opened.promise;
    return pipelineVersion(version).load(signal);
  };
  return { version: changed(version, fingerprint, load), begun: begun.promise, open: () => opened.resolve() };
}

const states = (manager: ModelManager) =>
  manager.statuses().map(({ model, version, state }) => `${model} ${version} ${state}`);
const current = (manager: ModelManager) => manager.catalog.resolve({ model: "m" }).version;
const eventOf = (manager: ModelManager, wanted: string) =>
  new Promise<void>((resolve) => {
    const stop = manager.onState(({ version, state }) => {
      if (`${version} ${state}` !== wanted) return;
      stop();
      resolve();
    });
  });

describe("what should be served", () => {
  it("is settled if it was wanted again, and a client unloaded it, while its last requests ran", async () => {
    const { manager } = await observe([model(pipelineVersion(1n))]);
    const servable = manager.servables()[0];
    servable?.leases.take();
    manager.aspire([]);
    manager.aspire([model(changed(1n, "2"))]);
    const [settled, unloaded] = [manager.settled(), manager.unload("m")];
    await new Promise(setImmediate);
    servable?.leases.release();
    await unloaded;
    expect(await settled).toEqual([]);
    expect(states(manager)).toEqual(["m 1 END"]);
  });

  it("is loaded, and what should not be any more is unloaded", async () => {
    const { manager, events } = await observe([model(pipelineVersion(1n))]);
    expect(states(manager)).toEqual(["m 1 AVAILABLE"]);
    manager.aspire([]);
    await manager.settled();
    expect(events).toEqual(["1 UNLOADING", "1 END"]);
    expect(() => current(manager)).toThrow("Servable not found for request: Latest(m)");
  });

  it("does not wait for what is loaded last, unless there is nothing else", async () => {
    const [first, last] = [heldVersion(1n), heldVersion(1n)];
    const options = { loadedLast: "bad", loadThreads: 1 };
    const models = [{ name: "bad", versions: [last.version] }, model(first.version)];
    const { manager } = await observe([], options);
    manager.aspire(models);
    await first.begun;
    first.open();
    expect(await manager.started()).toEqual([]);
    expect(manager.isReady()).toBe(true);
    await last.begun;
    expect(states(manager)).toEqual(["m 1 AVAILABLE", "bad 1 LOADING"]);
    expect(() => manager.catalog.resolve({ model: "bad" })).toThrow(
      "The model bad is being loaded in a process of its own",
    );
    last.open();
    await manager.settled();
    manager.aspire([{ name: "bad", versions: [failing(1n, "2")] }]);
    expect(await manager.started()).toHaveLength(1);
  });

  it("takes over from the version before it once it is available, which goes then", async () => {
    const { manager, events } = await observe([model(pipelineVersion(1n))]);
    const next = heldVersion(2n);
    manager.aspire([model(next.version)]);
    await next.begun;
    expect(current(manager)).toBe(1n);
    const ended = eventOf(manager, "1 END");
    next.open();
    await ended;
    expect(current(manager)).toBe(2n);
    expect(events).toEqual(["2 START", "2 LOADING", "2 AVAILABLE", "1 UNLOADING", "1 END"]);
  });

  it("leaves the version before it alone when it cannot be loaded", async () => {
    const { manager, events } = await observe([model(pipelineVersion(1n))]);
    manager.aspire([model(failing(2n))]);
    expect(await manager.settled()).toMatchObject([{ model: "m", version: 2n, reason: { message: "no file" } }]);
    expect(events).toEqual(["2 START", "2 LOADING", "2 END no file"]);
    expect(current(manager)).toBe(1n);
  });

  it("may change while it loads: what is no longer wanted is given up", async () => {
    const { manager } = await observe([]);
    const [first, second] = [heldVersion(1n, "a"), heldVersion(1n, "b")];
    manager.aspire([model(first.version)]);
    const given = await first.begun;
    manager.aspire([model(second.version)]);
    await Promise.resolve();
    expect(given.aborted).toBe(true);
    first.open();
    second.open();
    await manager.settled();
    expect(manager.statuses()).toMatchObject([{ state: "AVAILABLE", generation: 1 }]);
  });

  it("is refused where a name or a version stands twice", async () => {
    const { manager } = await observe([model(pipelineVersion(1n))]);
    expect(() => manager.aspire([model(), model()])).toThrow("The model m is given twice");
    expect(() => manager.aspire([model(failing(1n), failing(1n))])).toThrow("A version of the model m is given twice");
    expect(states(manager)).toEqual(["m 1 AVAILABLE"]);
  });
});

describe("a version with other files", () => {
  it("is loaded again while it serves", async () => {
    const { manager, events } = await observe([model(pipelineVersion(1n))]);
    const before = manager.catalog.resolve({ model: "m" }).servable;
    manager.aspire([model(changed(1n, "2"))]);
    await manager.settled();
    expect(manager.catalog.resolve({ model: "m" }).servable).not.toBe(before);
    expect(events).toEqual(["1 AVAILABLE"]);
    expect(manager.statuses()).toMatchObject([{ generation: 2 }]);
  });

  it("keeps the old ones when they cannot be loaded, and says why", async () => {
    const { manager, events } = await observe([model(pipelineVersion(1n))]);
    const before = manager.catalog.resolve({ model: "m" }).servable;
    manager.aspire([model(failing(1n, "2"))]);
    await manager.settled();
    expect(manager.catalog.resolve({ model: "m" }).servable).toBe(before);
    expect(events).toEqual(["1 AVAILABLE no file"]);
    manager.aspire([model(changed(1n, "3"))]);
    await manager.settled();
    expect(events.slice(1)).toEqual(["1 AVAILABLE"]);
  });
});

describe("hooks that were read again alone", () => {
  it("are read once more when their files are wanted again after others: they may differ from those", async () => {
    let reads = 0;
    const load = async (signal: AbortSignal) => {
      const servable = await pipelineVersion(1n).load(signal);
      return Object.assign(servable, { sources: () => ["hooks.ts"], reload: async () => void reads++ });
    };
    const files = { ...changed(1n, "1", load), modelFingerprint: "m" };
    const { manager } = await observe([model(files)]);
    await manager.reloadHooks();
    expect(reads).toBe(1);
    const others = heldVersion(1n, "2");
    manager.aspire([model(others.version)]);
    await others.begun;
    manager.aspire([model(files)]);
    others.open();
    await manager.settled();
    expect([reads, states(manager)]).toEqual([2, ["m 1 AVAILABLE"]]);
  });
});

describe("a load that fails", () => {
  it("is tried again so many times, and is over then", async () => {
    let loads = 0;
    const version = changed(1n, "1", async () => {
      loads++;
      throw new ServingError("unavailable", "not yet");
    });
    const { manager, events } = await observe([], { loadRetries: 2 });
    const ended = eventOf(manager, "1 END");
    manager.aspire([model(version)]);
    await manager.settled();
    expect(events.at(-1)).toBe("1 LOADING not yet");
    await ended;
    manager.aspire([model(version)]);
    expect([loads, states(manager)]).toEqual([3, ["m 1 END"]]);
  });

  it("is tried again at once when the files change, also while it waits", async () => {
    const { manager } = await observe([model(failing(1n))], { loadRetries: 1, loadRetryMs: 3_600_000 });
    const available = eventOf(manager, "1 AVAILABLE");
    manager.aspire([model(changed(1n, "2"))]);
    await available;
    expect(current(manager)).toBe(1n);
  });

  it("is tried again as it was described last, though its files are the same", async () => {
    const { manager } = await observe([model(failing(1n))], { loadRetries: 1e6, loadRetryMs: 1 });
    const available = eventOf(manager, "1 AVAILABLE");
    manager.aspire([model(changed(1n, "1"))]);
    await available;
  });

  it("keeps no other model from loading, nor does one that never ends", async () => {
    const held = heldVersion(1n);
    const { manager } = await observe([], { loadThreads: 2 });
    const others = Array.from({ length: 5 }, (_, index) => ({ name: `n${index}`, versions: [pipelineVersion(1n)] }));
    const available = others.map(({ name }) => `${name} 1 AVAILABLE`);
    manager.aspire([model(held.version), { name: "bad", versions: [failing(1n)] }, ...others]);
    await expect.poll(() => states(manager)).toEqual(["m 1 LOADING", "bad 1 END", ...available]);
    held.open();
    await manager.settled();
  });

  it("for its time is given up, and what it loads later is freed", async () => {
    const freed = createDeferred<void>();
    const opened = createDeferred<void>();
    const late = changed(1n, "1", async (signal) => {
      const servable = await pipelineVersion(1n).load(signal);
      await opened.promise;
      return { ...servable, close: () => servable.close().finally(freed.resolve) };
    });
    const { manager } = await observe([model(late)], { loadTimeoutMs: 30 });
    expect(manager.statuses()).toMatchObject([
      { state: "END", error: { code: "deadline_exceeded", message: expect.stringContaining("within 30 ms") } },
    ]);
    opened.resolve();
    await freed.promise;
  });

  it("is not given up any more once it has loaded", async () => {
    let given: AbortSignal | undefined;
    const version = changed(1n, "1", (signal) => {
      given = signal;
      return pipelineVersion(1n).load(signal);
    });
    const { manager } = await observe([model(version)]);
    manager.aspire([model(changed(1n, "2"))]);
    await manager.settled();
    expect(given?.aborted).toBe(false);
  });
});

it("loads no more models at once than it may", async () => {
  let [running, most] = [0, 0];
  const versions = Array.from({ length: 8 }, (_, index) =>
    changed(BigInt(index + 1), "1", async (signal) => {
      most = Math.max(most, ++running);
      return pipelineVersion(1n)
        .load(signal)
        .finally(() => running--);
    }),
  );
  await observe([model(...versions)], { loadThreads: 3 });
  expect(most).toBe(3);
});

describe("labels", () => {
  const labelled = (version: bigint, ...versions: AspiredVersion[]) => ({
    ...model(...versions),
    labels: { stable: version },
  });
  const byLabel = (manager: ModelManager) => manager.catalog.resolve({ model: "m", label: "stable" }).version;

  it("move when their version is available, and not before", async () => {
    const { manager } = await observe([labelled(1n, pipelineVersion(1n))]);
    const next = heldVersion(2n);
    manager.aspire([labelled(2n, pipelineVersion(1n), next.version)]);
    await next.begun;
    expect(byLabel(manager)).toBe(1n);
    next.open();
    await manager.settled();
    expect(byLabel(manager)).toBe(2n);
    expect(() => manager.catalog.resolve({ model: "m", label: "stabel" })).toThrow(
      'Unrecognized servable version label: stabel. Did you mean "stable"? Model m has stable.',
    );
    manager.aspire([model(pipelineVersion(1n), next.version)]);
    expect(() => byLabel(manager)).toThrow("Unrecognized servable version label: stable");
  });

  it("that point to a missing version are logged once", async () => {
    const lines: string[] = [];
    const log: Logger = { ...createSilentLogger(), warn: (line) => lines.push(line) };
    const { manager } = await observe([labelled(2n, pipelineVersion(1n))], { log });
    manager.aspire([labelled(2n, pipelineVersion(1n))]);
    expect(lines).toEqual([
      'Request to assign label "stable" to version 2 of model m, which is not currently available for inference',
    ]);
    manager.aspire([labelled(2n, pipelineVersion(1n), pipelineVersion(2n))]);
    await manager.settled();
    expect(byLabel(manager)).toBe(2n);
    expect(lines).toHaveLength(1);
  });

  it("may point to what is not available where that is allowed", async () => {
    const { manager } = await observe([labelled(2n, pipelineVersion(1n))], { allowLabelsForUnavailable: true });
    expect(() => byLabel(manager)).toThrow("Servable not found for request: Specific(m, 2)");
    const { manager: strict } = await observe([labelled(2n, pipelineVersion(1n))]);
    expect(() => byLabel(strict)).toThrow("Unrecognized servable version label: stable");
  });
});

describe("a client", () => {
  it("unloads a model until a client loads it, even if its files change", async () => {
    const { manager } = await observe([model(pipelineVersion(1n))]);
    await manager.unload("m");
    manager.aspire([model(changed(1n, "2"), pipelineVersion(2n))]);
    expect(states(manager)).toEqual(["m 1 END"]);
    await manager.load("m");
    expect(states(manager)).toEqual(["m 2 AVAILABLE", "m 1 AVAILABLE"]);
  });

  it("is notified once why a model cannot be loaded, and when there is none", async () => {
    const { manager } = await observe([model(failing(1n))], { loadRetries: 3 });
    await expect(manager.load("m")).rejects.toThrow("no file");
    expect(manager.statuses()).toMatchObject([{ state: "END", error: { message: "no file" } }]);
    await expect(manager.load("n")).rejects.toThrow('There is no model "n". Did you mean "m"?');
  });

  it("is notified of a version that cannot be loaded once all others are", async () => {
    const held = heldVersion(2n);
    const { manager } = await observe([model(pipelineVersion(1n))]);
    await manager.unload("m");
    manager.aspire([model(failing(3n), held.version, pipelineVersion(1n))]);
    const refused = expect(manager.load("m")).rejects.toThrow("no file");
    await held.begun;
    held.open();
    await refused;
    expect(states(manager)).toEqual(["m 3 END", "m 2 AVAILABLE", "m 1 AVAILABLE"]);
  });

  it("is notified when the model is unloaded during the load", async () => {
    const held = heldVersion(1n);
    const { manager } = await observe([model(failing(1n))]);
    manager.aspire([model({ ...held.version, fingerprint: "2" })]);
    const loaded = manager.load("m");
    const refused = expect(loaded).rejects.toMatchObject({ code: "aborted" });
    await held.begun;
    await Promise.all([manager.unload("m"), refused]);
    expect(states(manager)).toEqual(["m 1 END"]);
  });

  it("sees one change after the other, in the order in which they were asked for", async () => {
    const { manager } = await observe([model(pipelineVersion(1n))]);
    const changes = [manager.load("m"), manager.unload("m"), manager.load("m"), manager.load("m"), manager.unload("m")];
    await Promise.allSettled(changes);
    expect(states(manager)).toEqual(["m 1 END"]);
    await manager.load("m");
    expect(current(manager)).toBe(1n);
  });
});

describe("a change that is found", () => {
  it("while a client's load is prepared is not lost where that fails", async () => {
    const { manager } = await observe([model(pipelineVersion(1n))]);
    const change = async () => {
      manager.aspire([model(changed(1n, "2"))]);
      throw new ServingError("invalid_argument", "no such option");
    };
    await expect(manager.load("m", change)).rejects.toThrow("no such option");
    await manager.settled();
    expect(manager.statuses()).toMatchObject([{ state: "AVAILABLE", generation: 2 }]);
  });

  it("while a client's load is prepared is loaded once, with that", async () => {
    const { manager } = await observe([model(pipelineVersion(1n))]);
    await manager.load("m", async () => manager.aspire([model(changed(1n, "2"), pipelineVersion(2n))]));
    expect(manager.statuses()).toMatchObject([{ generation: 1 }, { generation: 2 }]);
  });
});

it("closes only once all are freed, also while a client's load is prepared", async () => {
  const scanned = createDeferred<void>();
  const { manager } = await observe([model(pipelineVersion(1n))], { refresh: () => scanned.promise });
  const refused = expect(manager.load("m")).rejects.toMatchObject({ code: "not_found" });
  await new Promise(setImmediate);
  await manager.close();
  expect(states(manager)).toEqual([]);
  scanned.resolve();
  await refused;
});

describe("a version that is kept since the next one does not load", () => {
  it("is not unloaded while it is idle: its files may be gone", async () => {
    const { manager } = await observe([model(pipelineVersion(1n))]);
    manager.aspire([{ ...model(failing(2n)), idleUnloadMs: 10 }]);
    await manager.settled();
    await delay(50);
    expect(manager.servables()).toMatchObject([{ version: 1n, isLoaded: true }]);
    manager.aspire([{ ...model(pipelineVersion(1n)), idleUnloadMs: 10 }]);
    await expect.poll(() => manager.servables(), { timeout: 20_000 }).toMatchObject([{ version: 1n, isLoaded: false }]);
  });
});

describe("a change that also gives a shorter idle time, long after the last request", () => {
  it("unloads nothing whose files it replaces: they are gone until the new ones have loaded", async () => {
    const { manager } = await observe([model(pipelineVersion(1n))]);
    const held = heldVersion(1n, "2");
    await delay(20);
    manager.aspire([{ ...model(held.version), idleUnloadMs: 10 }]);
    await held.begun;
    expect(manager.servables()).toMatchObject([{ version: 1n, isLoaded: true }]);
    held.open();
    expect(await manager.settled()).toEqual([]);
  });

  it("unloads nothing that it removes before what needs it is replaced, and ends as if nothing had been idle", async () => {
    const { log, events } = createEventLog();
    const old = { name: "old", versions: [pipelineVersion(1n)], idleUnloadMs: 0 };
    const chain = { ...model({ ...pipelineVersion(1n), needs: ["old"] }), idleUnloadMs: 0 };
    const manager = await manage([old, chain], { idleUnloadMs: 10, log });
    const held = heldVersion(1n, "2");
    await delay(20);
    manager.aspire([{ ...model(held.version), idleUnloadMs: 0 }]);
    await held.begun;
    expect(manager.catalog.get("old")?.current?.servable?.isLoaded).toBe(true);
    held.open();
    expect(await manager.settled()).toEqual([]);
    await delay(20);
    await manager.close();
    expect(events.filter(({ msg }) => msg === "model unloaded")).toEqual([]);
  });
});

describe("readiness", () => {
  it("begins when everything has loaded or failed", async () => {
    const held = heldVersion(1n);
    const manager = await manage([]);
    const { manager: empty } = await observe([]);
    expect([manager.isReady(), empty.isReady()]).toEqual([true, true]);
    await manager.close();
    const { manager: failed } = await observe([model(failing(1n))]);
    expect(failed.isReady()).toBe(false);
    failed.aspire([model(failing(1n)), { name: "n", versions: [held.version] }]);
    held.open();
    await failed.settled();
    expect(failed.isReady()).toBe(true);
  });

  it("waits for every version where it is strict, but not for what a client has unloaded", async () => {
    const models = [model(failing(1n)), { name: "n", versions: [pipelineVersion(1n)] }];
    const { manager } = await observe(models, { strictReadiness: true });
    expect(manager.isReady()).toBe(false);
    await manager.unload("m");
    expect(manager.isReady()).toBe(true);
  });
});

it("forgets old versions that have ended, but for the last ones", async () => {
  const { manager } = await observe([]);
  for (let version = 1n; version <= 14n; version++) {
    const before = version === 1n ? Promise.resolve() : eventOf(manager, `${version - 1n} END`);
    manager.aspire([model(pipelineVersion(version))]);
    await manager.settled();
    await before;
  }
  expect(states(manager)).toHaveLength(11);
  expect(states(manager)[0]).toBe("m 14 AVAILABLE");
});
