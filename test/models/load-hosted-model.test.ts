import { expect, test } from "vitest";
import type { Driver } from "../../src/drivers/driver.ts";
import { loadHostedModel } from "../../src/models/load-hosted-model.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { CancelSource } from "../../src/platform/async/cancel-source.ts";
import { toTensors } from "../../src/tensor/plain-value.ts";

test("a batch has no more rows than the inputs' bounds allow", async () => {
  const runs: unknown[] = [];
  const driver: Driver<Record<string, never>> = {
    name: "bounded",
    options: {},
    load: async () => ({
      signatures: { serving_default: { inputs: [{ name: "x", dtype: "int32", shape: [{ min: 1, max: 3 }] }] } },
      predict: async (inputs) => {
        runs.push(inputs.x?.shape[0]);
        return inputs;
      },
      close: async () => {},
    }),
  };
  const options = { max_batch_size: "8", allowed_batch_sizes: "2,8" };
  const model = await loadHostedModel({ driver, path: "", options, threads: 1 }, createSilentLogger());
  const call = { signature: "serving_default", signal: new CancelSource() };
  await Promise.all([1, 2, 3, 4].map((x) => model.predict(toTensors({ x: [x] }), call)));
  expect(runs).toEqual([3, 2]);
  expect(model.maxBatchSize).toBe(3);
  await model.close();
});
