import { describe, expect, it, onTestFinished } from "vitest";
import type { RawOptions } from "../../../src/drivers/option-table.ts";
import { findDriver } from "../../../src/drivers/registry.ts";
import { loadHostedModel } from "../../../src/models/load-hosted-model.ts";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { DEFAULT_SIGNATURE } from "../../../src/tensor/signature/signature.ts";
import { createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";
import { warmNumpy } from "../../helpers/warm-python.ts";
import { IMPORT_PATH } from "./load-model.ts";

const python = warmNumpy("Batches of models in Python");

async function load(model_class: string, more: RawOptions) {
  const { driver } = await findDriver("python");
  const options = { python: python ?? "", import_path: IMPORT_PATH, model_class, ...more };
  const model = await loadHostedModel({ driver, path: "", options, threads: 1 }, createSilentLogger());
  onTestFinished(() => model.close());
  return (...values: number[]) => {
    const x = createTensor("float32", [values.length / 2, 2], Float32Array.from(values));
    const signal = new AbortController().signal;
    return model.predict(createTensors([["x", x]]), { signature: DEFAULT_SIGNATURE, signal });
  };
}

describe.skipIf(python === undefined)("the option batch", () => {
  it("puts together what waits while the process is busy, up to so many rows", async () => {
    const ask = await load("toy.models:Rows", { batch: "4" });
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(1, 2)));
    const together = answers.map(({ rows }) => Number((rows as Tensor<"int64">).data[0]));
    expect(Math.max(...together)).toBe(4);
  });

  it("refuses a model without a batch dimension, and says where it lacks", async () => {
    await expect(load("toy.models:Scale", { batch: "4" })).rejects.toMatchObject({
      code: "failed_precondition",
      message: "The model cannot be batched: sum is a scalar; expected a first dimension of any size.",
    });
  });

  it.each([
    [
      { batch: "4", max_batch_size: "4" },
      'The options "batch" and "max_batch_size" are two names of one; give one of them.',
    ],
    [{ batch: "many" }, 'Option "batch" is "many"; expected an integer of 0 or more.'],
  ])("refuses %j", async (options, message) => {
    await expect(load("toy.models:Rows", options)).rejects.toThrow(message);
  });
});
