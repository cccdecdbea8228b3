import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { findDriver } from "../../../src/drivers/registry.ts";
import type { ModelHost } from "../../../src/models/model-host.ts";
import { startModel } from "../../../src/models/start-model.ts";
import { KeptThreads } from "../../../src/models/threads/kept-threads.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { CancelSource } from "../../../src/platform/async/cancel-source.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const POLL = { timeout: 20_000, interval: 10 };
/**
 * Answers its thread's number and a count of the models that the thread has loaded; ends its thread for -1. It asks to
 * be kept unless `kept=false`, does not load with `broken`, and blocks its thread for so long while it loads.
 */
const DRIVER = `
import { threadId } from "node:worker_threads";
import { defineDriver } from "kserving";
let loaded = 0;
export default defineDriver({
  name: "native",
  options: {
    kept: { type: "boolean", default: true },
    broken: { type: "boolean", default: false },
    blockMs: { type: "integer", default: 0 },
  },
  pathless: true,
  load: async (_, { kept, broken, blockMs }) => {
    if (broken) throw new Error("no memory");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMs);
    loaded++;
    return {
      signatures: { serving_default: {} },
      keepsThread: kept,
      predict: async ({ x }) => {
        if (x.data[0] === -1) setImmediate(() => { throw new Error("the runtime has failed"); });
        return { y: { dtype: "int32", shape: [2], data: Int32Array.of(threadId, loaded) } };
      },
      close: async () => {},
    };
  },
});`;

/** Starts models of the driver, which are freed with the test. */
async function kept({ modelStallMs = 0 } = {}) {
  const found = await findDriver(join(tempFolder({ "native.ts": DRIVER }), "native.ts"));
  onTestFinished(() => found.dispose());
  const keptThreads = new KeptThreads();
  const start = async (options: Record<string, string> = {}, { instances = 1, log = createSilentLogger() } = {}) => {
    const source = { found, path: "", options };
    const model = await startModel(source, { instances, modelStallMs, log, keptThreads });
    onTestFinished(() => model.close().catch(() => {}));
    return model;
  };
  return { start, keptThreads };
}

const signal = new CancelSource();

/** The number of a model's thread, and of the models that it has loaded. */
async function ask({ handle }: ModelHost, value = 1): Promise<readonly number[]> {
  const x = createTensor("float32", [1], Float32Array.of(value));
  const { y } = await handle.predict({ x }, { signature: "serving_default", signal, transfer: true });
  return [...(y!.data as Int32Array)];
}

async function askOnce(model: ModelHost): Promise<readonly number[]> {
  return ask(model).finally(() => model.close());
}

describe("threads of models that keep them", () => {
  test("are those of the driver's next models, one at a time", async () => {
    const { start } = await kept();
    const first = await start();
    const [thread] = await ask(first);
    const second = await start();
    expect((await ask(second))[0]).not.toBe(thread);
    await first.close();
    expect(await askOnce(await start())).toEqual([thread, 2]);
    expect(await askOnce(await start())).toEqual([thread, 3]);
  });

  test("end with models that do not ask for it", async () => {
    const { start } = await kept();
    const [thread] = await askOnce(await start({ kept: "false" }));
    const next = await askOnce(await start({ kept: "false" }));
    expect(next).toEqual([expect.any(Number), 1]);
    expect(next[0]).not.toBe(thread);
  });

  test("stay after a model that does not load, and are not kept by one alone", async () => {
    const { start } = await kept();
    await expect(start({ broken: "true" })).rejects.toThrow("no memory");
    const [thread] = await askOnce(await start());
    await expect(start({ broken: "true" })).rejects.toThrow("no memory");
    expect(await askOnce(await start())).toEqual([thread, 2]);
  });

  test("are given up when they fail, and the log names the model that they have then", async () => {
    const { start } = await kept();
    const [earlier, later] = [createEventLog(), createEventLog()];
    const [thread] = await askOnce(await start({}, earlier));
    const model = await start({}, later);
    await ask(model, -1).catch(() => {});
    const next = async () => (await ask(model).catch(() => [thread]))[0];
    await expect.poll(next, POLL).not.toBe(thread);
    await later.find({ msg: "a model's thread failed" });
    expect(earlier.events).not.toContainEqual(expect.objectContaining({ level: "error" }));
    await model.close();
    expect((await askOnce(await start()))[0]).not.toBe(thread);
  });

  test("may be blocked by the next model while it loads, as new ones may", async () => {
    const { start } = await kept({ modelStallMs: 300 });
    const [thread] = await askOnce(await start());
    expect(await askOnce(await start({ blockMs: "1500" }))).toEqual([thread, 2]);
  });

  test("are four without a model at most, and end with their keeper", async () => {
    const { start, keptThreads } = await kept();
    const before = threads();
    const models = await start({}, { instances: 6 });
    expect(threads()).toBe(before + 6);
    await models.close();
    await expect.poll(threads, POLL).toBe(before + 4);
    const last = await start();
    await keptThreads.close();
    await expect.poll(threads, POLL).toBe(before + 1);
    await last.close();
    await expect.poll(threads, POLL).toBe(before);
  });
});

/** Threads of this process by Node's report. */
function threads(): number {
  return (process.report.getReport() as { readonly workers: readonly unknown[] }).workers.length;
}
