import { once } from "node:events";
import { dirname, join } from "node:path";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import type { InitParams } from "../../../src/hooks/hooks.ts";
import type { LeasedModel, ModelProvider } from "../../../src/hooks/host/hook-leases.ts";
import { HookPool } from "../../../src/hooks/host/hook-pool.ts";
import { HookWorker } from "../../../src/hooks/host/hook-worker.ts";
import { openGeneration } from "../../../src/hooks/host/open-generation.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { createDeferred } from "../../../src/platform/async/promises.ts";
import { sliceSettings } from "../../../src/platform/limits/settings/server-settings.ts";
import { compileUserModule } from "../../../src/platform/user-module/user-module.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const log = createSilentLogger();
const params = { model_path: "", model_paths: [] } as unknown as InitParams;
const served = { model: "m", version: 1n };
const facts = {
  driver: "test",
  path: "",
  loadMs: 0,
  signatures: {},
  defaultSignature: "serving_default",
  echoes: true,
};
const choices = {
  stageCount: 1,
  logged: "silent",
  ...sliceSettings({ hookTimeoutMs: 0, hookStallMs: 0, hookMemoryMb: 64 }).hooks,
} as const;
const passing = "export const preprocess = (inputs: any) => inputs;";
const exiting = "setTimeout(() => process.exit(1)); await new Promise(() => {});";

const hookFile = (source: string) => join(tempFolder({ "hooks.ts": source }), "hooks.ts");

const startWorker = async (source: string, own: object = {}) => {
  const file = hookFile(source);
  const compiled = await compileUserModule(file);
  const worker = new HookWorker({ ...choices, ...own, file, url: compiled.url }, log);
  onTestFinished(async () => {
    await worker.terminate();
    await compiled.dispose();
  });
  return worker;
};

/** A line to a model, and a promise that its other end has heard of its end. */
const line = () => {
  const { port1, port2 } = new MessageChannel();
  return { connection: { facts, hookArgs: {}, ports: [port2] }, port: port2, closed: once(port1, "close") };
};

/**
 * Leases a model as the only stage, each time by a line of `stages`, and what `load` gives beside it; `listeners` hear
 * of new lines to the stage.
 */
const createProvider = (load: () => Promise<LeasedModel>) => {
  const stages: ReturnType<typeof line>[] = [];
  const listeners = new Set<(stage: number, instance: number, port: MessagePort, resend: boolean) => void>();
  const provider: ModelProvider = {
    stages: () => {
      stages.push(line());
      return stages.slice(-1).map(({ connection }) => connection);
    },
    onReconnect: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    load,
  };
  return { provider, listeners, stages };
};

const nothingToLease = () => createProvider(() => Promise.reject(new Error("nothing to lend")));

test("a thread that has ended cannot be started, says why and keeps no line open", async () => {
  const worker = await startWorker(`setTimeout(() => process.exit(1), 20); ${passing}`);
  await worker.declared;
  expect(await worker.ended).toMatchObject({ code: "unavailable" });
  const { provider, listeners, stages } = nothingToLease();
  await expect(worker.start({ provider, params, served })).rejects.toMatchObject({
    code: "unavailable",
  });
  await Promise.all(stages.map(({ closed }) => closed));
  expect(listeners.size).toBe(0);
});

test("lines for a thread that has ended are closed, sent before or after", async () => {
  const worker = await startWorker(passing);
  await worker.declared;
  const { provider, listeners, stages } = nothingToLease();
  await worker.start({ provider, params, served });
  const [listener] = listeners;
  await worker.terminate();
  const late = line();
  listener?.(0, 0, late.port, false);
  await Promise.all([late.closed, stages[0]?.closed]);
});

test("a model that was still loading when the thread ended is given back", async () => {
  const asked = createDeferred<void>();
  const loaded = createDeferred<LeasedModel>();
  const { provider } = createProvider(() => {
    asked.resolve();
    return loaded.promise;
  });
  const worker = await startWorker(`export const init_hook = (_: any, ctx: any) => ctx.loadModel("test", "m");`);
  await worker.declared;
  worker.start({ provider, params, served }).catch(() => {});
  await asked.promise;
  await worker.terminate();
  const back = createDeferred<void>();
  const model = line();
  loaded.resolve({ connection: model.connection, close: async () => back.resolve() });
  await Promise.all([back.promise, model.closed, worker.returned]);
});

test.each([
  ["hangs", () => new Promise<void>(() => {})],
  ["cannot be freed", () => Promise.reject(new Error("stuck"))],
])("a thread that dies is replaced though a model that its hooks loaded %s", async (_, closeModel) => {
  let loads = 0;
  const { provider } = createProvider(async () => {
    const isFirst = ++loads === 1;
    return { connection: line().connection, close: isFirst ? closeModel : async () => {} };
  });
  const file = hookFile(
    `
    export const init_hook = (_: any, ctx: any) => ctx.loadModel("test", "m");
    export const preprocess = async () => { ${exiting} };`,
  );
  const open = (signal?: AbortSignal) => openGeneration({ ...choices, file }, { log }, signal);
  const generation = await open();
  const pool = new HookPool({ generation, open, workers: 1, provider, params, served });
  onTestFinished(() => generation.dispose());
  await pool.start();
  const asked = pool.run({
    signature: { name: "", spec: undefined },
    inputs: { kind: "tensors", tensors: {} },
    call: { id: "1", metadata: {}, signal: new AbortController().signal },
  });
  await expect(asked).rejects.toMatchObject({ code: "unavailable" });
  await expect.poll(() => pool.isReady()).toBe(true);
  expect(loads).toBe(2);
});

test("closing a pool ends a reload whose file never finishes to load", async () => {
  let file = hookFile(passing);
  const open = (signal?: AbortSignal) => openGeneration({ ...choices, file }, { log }, signal);
  const { provider } = nothingToLease();
  const generation = await open();
  const pool = new HookPool({ generation, open, workers: 1, provider, params, served });
  await pool.start();
  file = hookFile("await new Promise(() => {});");
  const reload = expect(pool.reload()).rejects.toMatchObject({ code: "unavailable" });
  await pool.close();
  await reload;
});

describe("a hook file that does not load says which one, and what to do:", () => {
  const loading = async (source: string, own: object = {}) => {
    const file = hookFile(source);
    const error = await openGeneration({ ...choices, ...own, file }, { log }).catch((reason) => reason);
    return { code: error.code, message: String(error.message).replace(dirname(file), "") };
  };

  test.each([
    [
      "one that ends its thread",
      "process.exit(7);",
      {},
      "/hooks.ts ended its thread while it was loaded (exit code 7); does it call process.exit()? Throw an error instead.",
    ],
    [
      "one that spins",
      "for (;;);",
      { hookStallMs: 300 },
      "/hooks.ts blocked its thread for 300 ms (--hook-stall) while it was loaded: is there an endless loop? Wait asynchronously for what takes long, or raise --hook-stall.",
    ],
    [
      "one that waits for ever",
      `await new Promise(() => {}); ${passing}`,
      { hookTimeoutMs: 10 },
      "/hooks.ts has not been loaded within 100 ms (10 times --hook-timeout); does it wait at its top level, outside all functions, for what never comes? If it needs longer, raise --hook-timeout.",
    ],
    [
      "one that throws an error that is not caught",
      `setTimeout(() => { throw new Error("stray"); }); await new Promise(() => {}); ${passing}`,
      {},
      "/hooks.ts failed with an uncaught error, while it was loaded: stray. Catch the errors of timers and of listeners.",
    ],
  ])("%s", async (_, source, own, message) => {
    expect(await loading(source, own)).toEqual({ code: "failed_precondition", message });
  });

  test.each([
    ["", "for (;;) all.push(new Array(1e6).fill(Math.random()));"],
    ["outside its heap ", "for (;;) { all.push(Buffer.alloc(1e7)); await new Promise(setImmediate); }"],
  ])("one that needs more memory %sthan it may have", async (_, body) => {
    const { code, message } = await loading(`const all = []; ${body}`);
    expect(code).toBe("resource_exhausted");
    expect(message).toBe(
      "/hooks.ts used more memory than --hook-memory allows, while it was loaded; raise it, or keep less.",
    );
  });
});

test.each([
  ["hangs", "for (;;);", /blocked its thread for 300 ms \(--hook-stall\) while its init_hook ran/],
  ["ends its thread", "process.exit(7);", /ended its thread while its init_hook ran \(exit code 7\)/],
])("an init_hook that %s fails the start", async (_, body, message) => {
  const worker = await startWorker(`export const init_hook = () => { ${body} };`, { hookStallMs: 300 });
  await worker.declared;
  await expect(worker.start({ provider: nothingToLease().provider, params, served })).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringMatching(message),
  });
});

test("a request of many megabytes is given to a busy thread: copying it would hold this one", async () => {
  const worker = await startWorker("export const process = () => new Promise(() => {});");
  await worker.declared;
  await worker.start({ provider: nothingToLease().provider, params, served });
  const run = (spaces: number) => {
    const json = new TextEncoder().encode(`{${" ".repeat(spaces)}}`);
    const call = { id: "1", metadata: {}, signal: new AbortController().signal };
    const signature = { name: "", spec: undefined };
    void worker.run({ signature, inputs: { kind: "json", json }, call }).catch(() => {});
    return json;
  };
  const texts = [run(10), run(1_000_000), run(10_000_000)];
  await expect.poll(() => texts.map(({ length }) => length > 0)).toEqual([true, true, false]);
});
