import { join } from "node:path";
import { expect, test } from "vitest";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** Ends its thread for -1; for -2 it hangs until its memory says otherwise. */
const DRIVER = `
import { defineDriver } from "kserving";
export default defineDriver({
  name: "mortal",
  options: {},
  pathless: true,
  load: async () => ({
    signatures: { serving_default: {} },
    predict: async (inputs) => {
      const [x] = inputs.x.data;
      if (x === -1) process.exit(1);
      if (x === -2) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
      return inputs;
    },
    close: async () => {},
  }),
});`;

const HOOKS = `
export default {
  preprocess(inputs) {
    if (inputs.x.data[0] === -3) process.exit(1);
    return inputs;
  },
};`;

async function start() {
  const folder = tempFolder({ "mortal.ts": DRIVER, "hooks.ts": HOOKS });
  const stages = [{ driver: join(folder, "mortal.ts") }];
  const { httpUrl } = await startServer({ stages, hooks: join(folder, "hooks.ts"), workers: 2 });
  const ask = async (x: number) => {
    const body = JSON.stringify({ inputs: [{ name: "x", datatype: "FP32", shape: [1], data: [x] }] });
    const response = await fetch(`${httpUrl}/v2/models/default/infer`, { method: "POST", body });
    await response.text();
    return response.status;
  };
  const metric = async (name: string) => {
    const text = await (await fetch(`${httpUrl}/metrics`)).text();
    return Number(
      text
        .split("\n")
        .find((line) => line.startsWith(name))
        ?.split(" ")
        .at(-1),
    );
  };
  return { ask, metric };
}

const VERSION = 'model="default",version="1"';

test("threads are counted by kind and state, and lost ones too", async () => {
  const { ask, metric } = await start();
  expect(await metric(`kserving_threads{${VERSION},kind="hook",state="ready"}`)).toBe(2);
  expect(await metric(`kserving_threads{${VERSION},kind="model",state="ready"}`)).toBe(1);
  expect(await metric(`kserving_model_loads_total{${VERSION},result="success"}`)).toBe(1);
  expect([await ask(-1), await ask(-3)]).toEqual([503, 503]);
  await expect.poll(() => metric(`kserving_threads_lost_total{${VERSION},kind="hook"}`)).toBe(1);
  await expect.poll(() => metric(`kserving_threads_lost_total{${VERSION},kind="model"}`)).toBe(1);
  await expect
    .poll(() => metric(`kserving_threads{${VERSION},kind="hook",state="missing"}`), { timeout: 5000 })
    .toBe(0);
  await expect.poll(() => metric(`kserving_threads{${VERSION},kind="model",state="ready"}`), { timeout: 5000 }).toBe(1);
});

test("an unresponsive model delays neither the metrics nor its own earlier counts", async () => {
  const { ask, metric } = await start();
  expect(await ask(1)).toBe(200);
  expect(await metric(`kserving_model_run_seconds_count{${VERSION}}`)).toBe(1);
  const standing = ask(-2);
  let isStanding = true;
  void standing.then(() => {
    isStanding = false;
  });
  await expect.poll(() => metric("kserving_requests_in_flight ")).toBe(1);
  expect(await metric(`kserving_model_run_seconds_count{${VERSION}}`)).toBe(1);
  expect(isStanding).toBe(true);
  expect(await standing).toBe(200);
});
