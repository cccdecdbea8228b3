import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTensor } from "../../src/tensor/tensor.ts";
import { findPython } from "../helpers/find-python.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { expectTensors } from "./expect-tensors.ts";
import { predict } from "./predict.ts";
import { loadModel } from "./python/load-model.ts";
import { makeModels } from "./python/make-models.ts";

const python = findPython("The mxnet driver", ["mxnet"]);
/** Each process imports the library, which takes ten seconds of an idle machine. */
const LONG = { timeout: 180_000 };
const options = { python: python ?? "" };
const rows = (count: number, width: number) =>
  createTensor("float32", [count, width], new Float32Array(count * width).fill(1));

describe.skipIf(python === undefined)("the mxnet driver", () => {
  it("answers what MXNet computes, and refuses what it would fit to its parameters", LONG, async () => {
    for (const { path, inputs, outputs } of makeModels(python as string, "mxnet")) {
      const model = await loadModel("mxnet", path, { options });
      expectTensors(await predict(model, inputs), outputs, 1e-6);
      expect((await predict(model, { data: rows(5, 3) })).softmax_output?.shape).toEqual([5, 2]);
      await expect(predict(model, { data: rows(5, 4) })).rejects.toMatchObject({
        code: "invalid_argument",
        message: "The model refuses the inputs: with data [5, 4] its layer_weight would be [2, 4]; it is [2, 3].",
      });
      expectTensors(await predict(model, inputs), outputs, 1e-6);
      await expect(predict(model, { softmax_label: rows(1, 1) })).rejects.toMatchObject({
        message: 'The model has no input "softmax_label". It has data.',
      });
    }
  });

  it("says what is wrong with the files", async () => {
    const path = join(tempFolder(), "net-symbol.json");
    writeFileSync(path, "{}");
    await expect(loadModel("mxnet", path, { options })).rejects.toMatchObject({
      code: "failed_precondition",
      message: "net-symbol.json has no net-0000.params beside it.",
    });
    writeFileSync(join(path, "../net-0000.params"), "none");
    await expect(loadModel("mxnet", path, { options })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/^MXNet \S+ cannot load the model: /),
    });
  });
});
