import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTensor } from "../../src/tensor/tensor.ts";
import { findPython } from "../helpers/find-python.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { warmPython } from "../helpers/warm-python.ts";
import { expectTensors } from "./expect-tensors.ts";
import { predict } from "./predict.ts";
import { loadModel } from "./python/load-model.ts";
import { makeModels } from "./python/make-models.ts";

const python = findPython("The paddle driver", ["paddle"]);
/** Each process imports the library, which takes ten seconds of an idle machine. */
const LONG = { timeout: 180_000 };
const warm = warmPython(python, "paddle", "paddle.inference");
const options = { python: warm };

describe.skipIf(python === undefined)("the paddle driver", () => {
  it("answers what Paddle answers, in its new format and in the old one", LONG, async () => {
    for (const { path, inputs, outputs } of makeModels(warm, "paddle")) {
      const model = await loadModel("paddle", path, { options: { ...options, outputs: "scores" } });
      expectTensors(await predict(model, inputs), { scores: Object.values(outputs)[0] as never }, 1e-6);
      expect(model.signatures.serving_default).toEqual({
        inputs: [{ name: "features", dtype: "float32", shape: [-1, 3] }],
        outputs: [{ name: "scores", dtype: "float32", shape: [-1, 2] }],
      });
      const wide = createTensor("float32", [1, 4], new Float32Array(4));
      await expect(predict(model, { features: wide })).rejects.toMatchObject({
        code: "invalid_argument",
        message: expect.stringMatching(/^The model refuses the inputs: The input's second dimension .*\.$/),
      });
    }
  });

  it("says what is wrong with a folder that has no model, and with a file that is none", async () => {
    const folder = tempFolder();
    await expect(loadModel("paddle", folder, { options })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining("The folder has 0 Paddle models; expected NAME.json"),
    });
    writeFileSync(join(folder, "broken.pdmodel"), "no model");
    await expect(loadModel("paddle", join(folder, "broken.pdmodel"), { options })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/^Paddle \S+ cannot load the model: /),
    });
  });
});
