import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { toTensors } from "../../../src/tensor/plain-value.ts";
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
