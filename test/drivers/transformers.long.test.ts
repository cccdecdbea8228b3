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

const python = findPython("The transformers driver", ["transformers", "torch"]);
/** Importing torch takes ten seconds of an idle machine. */
const LONG = { timeout: 180_000 };
const warm = warmPython(python, "transformers.pipelines", "torch");
const options = { python: warm };
const texts = (...values: string[]) =>
  createTensor(
    "bytes",
    [values.length],
    values.map((text) => Buffer.from(text)),
  );

describe.skipIf(python === undefined)("the transformers driver", () => {
  it("answers what the pipeline of the model's task answers", LONG, async () => {
    const cases = makeModels(warm, "transformers");
    for (const { path, inputs, outputs } of cases) {
      const model = await loadModel("transformers", path, { options });
      expectTensors(await predict(model, inputs), outputs, 1e-5);
      expect(model.signatures.serving_default?.inputs?.map(({ name }) => name)).toEqual(Object.keys(inputs));
    }
    const [{ path }] = cases as [(typeof cases)[number]];
    const given = { ...options, task: "zero-shot-classification", "argument.hypothesis_template": "about {}" };
    const model = await loadModel("transformers", path, { options: given });
    const text = texts("very good", "bad");
    const { labels, count } = await predict(model, { text, candidate_labels: texts("good", "bad") });
    expect([labels?.shape, Array.from(count?.data ?? [], Number)]).toEqual([
      [2, 2],
      [2, 2],
    ]);
    await expect(predict(model, { text })).rejects.toMatchObject({
      code: "invalid_argument",
      message: 'Input "candidate_labels" is missing. The model takes text, candidate_labels.',
    });
    const long = texts("good ".repeat(40));
    await expect(predict(model, { text: long, candidate_labels: text })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("must match the size of tensor"),
    });
    await expect(loadModel("transformers", path, { options: { ...options, task: "dancing" } })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/^The option task is "dancing"; expected one of text-classification, /),
    });
  });

  it("says what is wrong with a folder that has no model", async () => {
    const folder = tempFolder();
    const load = () => loadModel("transformers", folder, { options });
    await expect(load()).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/^The folder has no config\.json; expected what save_pretrained wrote/),
    });
    writeFileSync(
      join(folder, "config.json"),
      '{"architectures": ["BertForSequenceClassification"], "model_type": "bert"}',
    );
    await expect(load()).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/^transformers \S+ cannot load the model: /),
    });
  });
});
