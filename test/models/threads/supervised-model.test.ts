import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findDriver } from "../../../src/drivers/registry.ts";
import { createModelClient } from "../../../src/models/threads/model-client.ts";
import { SupervisedModel } from "../../../src/models/threads/supervised-model.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { toHostPort } from "../../../src/platform/threads/host-port.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/**
 * Returns its inputs; ends its thread for -1, hangs for 5 s for -2 and for 1 s for -3. Where a file `failing` lies next
 * to it, it does not load, once; where a file `held` does, not before that is gone.
 */
const DRIVER = `
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { defineDriver } from "kserving";
export default defineDriver({
  name: "mortal",
  options: { folder: { type: "string" } },
  pathless: true,
  load: async (_, { folder }) => {
    const failing = join(folder, "failing");
    while (existsSync(join(folder, "held"))) await new Promise((resolve) => setTimeout(resolve, 10));
    if (existsSync(failing)) { rmSync(failing); throw new Error("no memory"); }
    return {
      signatures: { serving_default: {} },
      predict: async (inputs) => {
        const [x] = inputs.x.data;
        if (x === -1) process.exit(1);
        const hangMs = { "-2": 5000, "-3": 1000 }[x];
        if (hangMs) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, hangMs);
        return inputs;
      },
      close: async () => {},
    };
  },
});`;

async function start({ stallMs = 0 } = {}) {
  const folder = tempFolder({ "mortal.ts": DRIVER });
  const found = await findDriver(join(folder, "mortal.ts"));
  const errors: string[] = [];
  const log = { ...createSilentLogger(), error: (message: string) => void errors.push(message) };
  let tell = () => {};
  const replaced = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const data = {
    driver: found.location,
    name: "m",
    path: "",
    options: { folder },
    threads: 1,
    logged: "silent",
    stallMs,
  } as const;
  const model = await SupervisedModel.start(7, {
    data,
    log,
    onReplaced: (instance, thread) => {
      errors.push(`replaced ${instance}`);
      client.reconnect(0, toHostPort(thread.connect()), false);
      tell();
    },
  });
  onTestFinished(async () => {
    await model.close().catch(() => {});
    await found.dispose();
  });
  const { facts, hookArgs } = model.thread;
  const client = createModelClient({ facts, hookArgs, ports: [toHostPort(model.connect())] });
  const { signal } = new AbortController();
  const ask = async (value: number) => {
    const x = createTensor("float32", [1], Float32Array.of(value));
    return (await client.predict({ x }, { signature: "serving_default", signal })).x?.data[0];
  };
  const failNextLoad = () => writeFileSync(join(folder, "failing"), "");
  const holdLoads = () => {
    writeFileSync(join(folder, "held"), "");
    return () => rmSync(join(folder, "held"));
  };
  return { model, client, ask, replaced, errors, failNextLoad, holdLoads };
}

const LOST = { code: "unavailable", message: expect.stringMatching(/the model's thread has ended/) };

test("a thread that ends is replaced, and its users hear of the new one", async () => {
  const { model, ask, replaced, errors } = await start();
  expect(await ask(5)).toBe(5);
  await expect(ask(-1)).rejects.toMatchObject(LOST);
  await replaced;
  expect(model.isReady).toBe(true);
  expect(await ask(6)).toBe(6);
  expect(errors).toEqual(["a model's thread ended and is replaced", "replaced 7"]);
});

test("a thread that cannot be started again is tried again, and does not answer meanwhile", async () => {
  const { ask, replaced, errors, failNextLoad } = await start();
  failNextLoad();
  await expect(ask(-1)).rejects.toMatchObject(LOST);
  await expect(ask(5)).rejects.toMatchObject(LOST);
  await replaced;
  expect(await ask(6)).toBe(6);
  expect(errors).toEqual([
    "a model's thread ended and is replaced",
    "the model could not be loaded again: The mortal driver could not load : no memory",
    "replaced 7",
  ]);
});

test("a thread that hangs is replaced, and closing says so while it has not come back", async () => {
  const { model, client, ask, replaced } = await start({ stallMs: 300 });
  const stuck = expect(ask(-2)).rejects.toMatchObject(LOST);
  await replaced;
  await stuck;
  expect(await ask(6)).toBe(6);
  await client.close();
  await expect(model.close()).rejects.toMatchObject({
    code: "deadline_exceeded",
    message: "A run of the mortal model has not come back; its thread cannot be ended.",
  });
});

test("closing while a thread that came back is replaced frees its model, and says nothing", async () => {
  const { model, client, ask, holdLoads } = await start({ stallMs: 300 });
  const goOn = holdLoads();
  const late = ask(-3);
  await expect.poll(() => model.isReady).toBe(false);
  expect(await late).toBe(-3);
  await client.close();
  await model.close();
  goOn();
});

test("requests to a thread that hangs fail once it cannot be replaced yet, and so do later ones", async () => {
  const { ask, errors, failNextLoad } = await start({ stallMs: 300 });
  failNextLoad();
  await expect(ask(-2)).rejects.toMatchObject(LOST);
  expect(errors.at(-2)).toMatch(/^the model could not be loaded again/);
  await expect(ask(5)).rejects.toMatchObject(LOST);
  await expect.poll(() => ask(6).catch(() => undefined)).toBe(6);
});

test("closing says so too where the hang has not been noticed yet", async () => {
  const { model, ask } = await start({ stallMs: 300 });
  void ask(-2).catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 20));
  await expect(model.close()).rejects.toMatchObject({ code: "deadline_exceeded" });
});

test("a thread that was told to close is not replaced", async () => {
  const { model, client, errors } = await start();
  await client.close();
  await model.close();
  expect(errors).toEqual([]);
});
