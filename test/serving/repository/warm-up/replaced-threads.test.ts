import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadServable, type ServableSource } from "../../../../src/serving/repository/load-servable.ts";
import type { Servable } from "../../../../src/serving/servable.ts";
import { toTensors } from "../../../../src/tensor/plain-value.ts";
import { createEventLog } from "../../../helpers/event-log.ts";
import { loadOptions } from "../../../helpers/load-options.ts";
import { plain, run } from "../../../helpers/run-pipeline.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";

/** Answers the number of values that its thread was asked for before; ends its thread for -1. */
const DRIVER = `
import { defineDriver } from "kserving";
const x = { name: "x", dtype: "float32", shape: [-1] };
export default defineDriver({
  name: "mortal",
  options: {},
  pathless: true,
  load: async () => {
    let asked = 0;
    return {
      signatures: { serving_default: { inputs: [x], outputs: [{ ...x, name: "asked" }] } },
      predict: async (inputs) => {
        if (inputs.x.data[0] === -1) process.exit(1);
        return { asked: { dtype: "float32", shape: [1], data: Float32Array.of(asked++) } };
      },
      close: async () => {},
    };
  },
});`;
/** The same for the hooks' thread. */
const HOOKS = `
let asked = 0;
export const process = (inputs) => {
  if (inputs.x.data[0] === -1) globalThis.process.exit(1);
  return { asked: Float32Array.of(asked++) };
};`;
const REQUEST = '{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [5]}]}';

async function load(source: (folder: string) => Partial<ServableSource>) {
  const folder = tempFolder({ "driver.ts": DRIVER, "hooks.ts": HOOKS, "request.json": REQUEST });
  const { log, find, events } = createEventLog();
  const all = { name: "m", version: 1n, stages: [], options: {}, ...source(folder) };
  const { servable } = await loadServable(all, loadOptions(log));
  onTestFinished(() => servable.close());
  return { folder, servable, find, events };
}

async function ask(servable: Servable, x: number): Promise<unknown> {
  const { outputs } = await run(servable, { kind: "tensors", tensors: toTensors({ x: Float32Array.of(x) }) });
  return outputs.kind === "tensors" && plain(outputs.tensors).asked;
}

/** Ends the model's thread by its request, and asks the next one first. */
async function askAfterDeath({ servable, find }: Awaited<ReturnType<typeof load>>): Promise<unknown> {
  await expect(ask(servable, -1)).rejects.toMatchObject({ code: "unavailable" });
  await find({ msg: "a model's thread ended and is replaced" });
  await expect.poll(() => servable.isReady(), { timeout: 20_000, interval: 10 }).toBe(true);
  return ask(servable, 0);
}

const file = (folder: string) => ({ kind: "file", path: join(folder, "request.json"), count: 3 }) as const;

describe("a model's thread that replaces another", () => {
  it("runs the request files of a model alone before it takes requests", async () => {
    const loaded = await load((folder) => ({
      stages: [{ driver: join(folder, "driver.ts") }],
      warmUp: [file(folder)],
    }));
    const { servable, events } = loaded;
    expect(await ask(servable, 0)).toEqual([3]);
    expect(await askAfterDeath(loaded)).toEqual([3]);
    expect(events.filter(({ msg }) => msg === "model warmed up")).toHaveLength(2);
    expect(await servable.statistics()).toMatchObject({ runs: { requests: 1 } });
  });

  it("runs values of the server's own where hooks stand before the model", async () => {
    const loaded = await load((folder) => ({
      stages: [{ driver: join(folder, "driver.ts") }],
      hooks: { preprocess: (inputs) => inputs },
      warmUp: [file(folder)],
    }));
    expect(await ask(loaded.servable, 0)).toEqual([3]);
    const [asked] = (await askAfterDeath(loaded)) as [number];
    expect(asked).toBeGreaterThan(0);
  });

  it("runs nothing without a warm-up", async () => {
    const loaded = await load((folder) => ({ stages: [{ driver: join(folder, "driver.ts") }] }));
    expect(await askAfterDeath(loaded)).toEqual([0]);
  });
});

describe("a hook thread", () => {
  const withHooks = (folder: string) => ({
    stages: [{ driver: "null" }],
    hooks: join(folder, "hooks.ts"),
    warmUp: [file(folder)],
  });

  it("that replaces another, or is of new hooks, runs the request files before it takes requests", async () => {
    const { servable } = await load(withHooks);
    expect(await ask(servable, 0)).toEqual([3]);
    await expect(ask(servable, -1)).rejects.toMatchObject({ code: "unavailable" });
    expect(await ask(servable, 0)).toEqual([3]);
    await servable.reload();
    expect(await ask(servable, 0)).toEqual([3]);
  });

  it("of new hooks on which they fail does not take over", async () => {
    const { folder, servable } = await load(withHooks);
    writeFileSync(join(folder, "hooks.ts"), "export const process = () => { throw new Error('no'); };");
    await expect(servable.reload()).rejects.toThrow(/The warm-up request .*request\.json failed: .*no/);
    expect(await ask(servable, 0)).toEqual([3]);
  });
});
