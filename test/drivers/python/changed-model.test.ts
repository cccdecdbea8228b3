import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { warmNumpy } from "../../helpers/warm-python.ts";
import { predict } from "../predict.ts";
import { loadModel } from "./load-model.ts";

const python = warmNumpy("Changed Python models");

const MODEL = `
import os
class Named:
    def load(self, path, options):
        with open(path) as file:
            self.inputs = {file.read(): "float32"}

    def predict(self, inputs):
        if "fatal" in os.listdir(os.path.dirname(__file__)):
            os._exit(1)
        return inputs
`;

it.skipIf(python === undefined)(
  "a model with other inputs is not served in the place of one that was loaded",
  async () => {
    const folder = tempFolder({ "named.py": MODEL, names: "x" });
    const path = join(folder, "names");
    const model = await loadModel("python", path, {
      options: { python: python as string, model_class: "named:Named" },
    });
    const x = createTensor("float32", [1], Float32Array.of(1));
    expect(await predict(model, { x })).toEqual({ x });
    writeFileSync(join(folder, "fatal"), "");
    writeFileSync(path, "y");
    await expect(predict(model, { x })).rejects.toMatchObject({ code: "unavailable" });
    await expect(predict(model, { x })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("could not be started again"),
      cause: expect.objectContaining({
        message: `The model at "${path}" has other inputs or outputs than before; load it again.`,
      }),
    });
    writeFileSync(path, "x");
    await expect.poll(() => model.isReady?.()).toBe(true);
  },
);
