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

const python = findPython("The h2o driver", ["h2o", "jpype"]);
/** Importing the library takes ten seconds of an idle machine. */
const LONG = { timeout: 180_000 };
const warm = warmPython(python, "h2o", "jpype");
const options = { python: warm };
const numbers = (...values: number[]) => createTensor("float64", [values.length], Float64Array.from(values));

describe.skipIf(python === undefined)("the h2o driver", () => {
  it("answers what H2O answers, for classes, numbers, groups and what is odd", LONG, async () => {
    for (const { path, inputs, outputs } of makeModels(warm, "h2o")) {
      const model = await loadModel("h2o", path, { options });
      expectTensors(await predict(model, inputs), outputs, 1e-6);
      const suggested = model.signatures.serving_default?.suggestedInputs ?? [];
      expect(suggested.map(({ name }) => name).sort()).toEqual(Object.keys(inputs).sort());
      await expect(predict(model, { ...inputs, height: numbers(1) })).rejects.toMatchObject({
        code: "invalid_argument",
        message: expect.stringContaining('The model has no input "height". It has '),
      });
    }
  });

  it("says what is wrong with a file that is no model", async () => {
    const path = join(tempFolder(), "model.zip");
    writeFileSync(path, "no archive");
    await expect(loadModel("h2o", path, { options })).rejects.toMatchObject({
      code: "failed_precondition",
      message: "The file is no MOJO, which is a zip archive; expected what model.download_mojo wrote.",
    });
  });
});
