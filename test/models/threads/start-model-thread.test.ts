import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadServable } from "../../../src/serving/repository/load-servable.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { loadOptions } from "../../helpers/load-options.ts";
import { loadPipeline, plain, run } from "../../helpers/run-pipeline.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

test("what a driver posts to its thread's parent port ends nothing, while it loads and while it runs", async () => {
  const source = `
    import { parentPort } from "node:worker_threads";
    import { defineDriver } from "kserving";
    const post = () => {
      const messages = ["ready", null, 5, [], { log: { level: "toString" } }, { failed: "no" }, { loaded: {} }, { detached: {} }];
      for (const message of messages) parentPort?.postMessage(message);
    };
    export default defineDriver({
      name: "loud", options: {}, pathless: true,
      load: async () => {
        post();
        return {
          signatures: { serving_default: {} },
          predict: async ({ x }: any) => { post(); return { y: { ...x, data: x.data.slice() } }; },
          close: async () => {},
        };
      },
    });`;
  const driver = join(tempFolder({ "loud.ts": source }), "loud.ts");
  const { servable } = await loadPipeline({ stages: [{ driver }] });
  onTestFinished(() => servable.close());
  for (let time = 0; time < 3; time++) {
    const { outputs } = await run(servable, { kind: "tensors", tensors: toTensors({ x: [time] }) });
    expect(outputs.kind === "tensors" && plain(outputs.tensors)).toEqual({ y: [time] });
  }
});

test("an error while a model is freed is a line of the log, and the model counts as freed", async () => {
  const code = `
    import { defineDriver } from "kserving";
    export default defineDriver({
      name: "stubborn", options: {}, pathless: true,
      load: async () => ({
        signatures: { serving_default: {} },
        predict: async (inputs) => inputs,
        close: async () => { throw new Error("the device is gone"); },
      }),
    });`;
  const driver = join(tempFolder({ "stubborn.ts": code }), "stubborn.ts");
  const { log, find } = createEventLog();
  const source = { name: "default", version: 1n, stages: [{ driver }], options: {} };
  const { servable } = await loadServable(source, loadOptions(log));
  await servable.close();
  await find({ level: "error", msg: "a model could not be freed: the device is gone" });
});
