import { join } from "node:path";
import { expect, test } from "vitest";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** Spins for a millisecond, so that there is a time to see; ends its thread for -1. */
const HOOKS = `
const spin = (values) => {
  const end = performance.now() + 1;
  while (performance.now() < end);
  return values;
};
export default {
  preprocess: [(inputs) => (inputs.x.data[0] === -1 ? process.exit(1) : spin(inputs)), null],
  postprocess: [null, spin],
};`;

const TWO_STAGES = [{ driver: "null" }, { driver: "null" }];

async function start(hooks: string | Hooks, stages = TWO_STAGES) {
  const { httpUrl } = await startServer({ stages, hooks });
  const ask = async (x: number) => {
    const body = JSON.stringify({ inputs: [{ name: "x", datatype: "FP32", shape: [1], data: [x] }] });
    return (await fetch(`${httpUrl}/v2/models/default/infer`, { method: "POST", body })).status;
  };
  const counts = async () => {
    const text = await (await fetch(`${httpUrl}/metrics`)).text();
    return text.split("\n").filter((line) => line.startsWith("kserving_hook_seconds_count"));
  };
  const statistics = async () => {
    const answer = await (await fetch(`${httpUrl}/v2/models/default/stats`)).json();
    return (answer as { model_stats: { inference_stats: Record<string, { ns: number }> }[] }).model_stats[0]!;
  };
  return { ask, counts, statistics };
}

const of = (hook: string, stage: string, count: number) =>
  `kserving_hook_seconds_count{model="default",version="1",hook="${hook}",stage="${stage}"} ${count}`;

test("each hook's calls are timed by stage, and those of a thread that ended are not forgotten", async () => {
  const hooks = join(tempFolder({ "hooks.ts": HOOKS }), "hooks.ts");
  const { ask, counts, statistics } = await start(hooks);
  expect([await ask(1), await ask(2)]).toEqual([200, 200]);
  expect(await counts()).toEqual([of("preprocess", "1", 2), of("postprocess", "2", 2)]);
  const { inference_stats: times } = await statistics();
  expect(times.compute_output?.ns).toBeGreaterThanOrEqual(2e6);
  expect(await ask(-1)).toBe(503);
  expect(await ask(3)).toBe(200);
  expect(await counts()).toEqual([of("preprocess", "1", 3), of("postprocess", "2", 3)]);
});

test("process is timed without a stage, one that fails too", async () => {
  const process: Hooks["process"] = (inputs) => {
    if (Number(inputs.x?.data[0]) < 0) throw new Error("as asked");
    return inputs;
  };
  const { ask, counts } = await start({ process });
  expect([await ask(1), await ask(-1)]).toEqual([200, 500]);
  expect(await counts()).toEqual([of("process", "", 2)]);
});
