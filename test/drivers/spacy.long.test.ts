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

const python = findPython("The spacy driver", ["spacy"]);
/** Each process imports the library, which takes ten seconds of an idle machine. */
const LONG = { timeout: 180_000 };
const warm = warmPython(python, "spacy");
const options = { python: warm };

describe.skipIf(python === undefined)("the spacy driver", () => {
  it("answers what the pipeline's components found in each text", LONG, async () => {
    for (const { path, inputs, outputs } of makeModels(warm, "spacy")) {
      const model = await loadModel("spacy", path, { options });
      expectTensors(await predict(model, inputs), outputs, 1e-6);
      const { inputs: taken = [], outputs: given = [] } = model.signatures.serving_default ?? {};
      expect(taken).toEqual([{ name: "text", dtype: "bytes", shape: [-1] }]);
      expect(given.map(({ name }) => name).sort()).toEqual(Object.keys(outputs).sort());
      expect(Object.keys(await predict(model, inputs, { outputs: ["entities"] }))).toEqual(["entities"]);
      const broken = createTensor("bytes", [1], [Uint8Array.of(0xff)]);
      await expect(predict(model, { text: broken })).rejects.toMatchObject({
        code: "invalid_argument",
        message: expect.stringContaining("can't decode byte 0xff"),
      });
    }
  });

  it("says what is wrong with a folder that has no pipeline", async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, "config.cfg"), "[nlp");
    await expect(loadModel("spacy", folder, { options })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/^spaCy \S+ cannot load the pipeline: /),
    });
  });
});
