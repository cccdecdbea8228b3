import { realpathSync, symlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openTensorflow } from "../../../../src/drivers/tensorflow/native/native-engine.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { missingRuntime } from "../../missing-runtime.ts";
import { tensorflowRuntime } from "./tensorflow-runtime.ts";

const missing = await missingRuntime("Opening libtensorflow", tensorflowRuntime);

describe.skipIf(missing !== undefined)("libtensorflow", () => {
  it("is refused next to another one, with the paths of both", async () => {
    const library = await tensorflowRuntime();
    process.env.KSERVING_TENSORFLOW_LOADED = `${process.pid}: /another/libtensorflow.so.2`;
    expect(() => openTensorflow(library)).toThrow(
      expect.objectContaining({
        code: "failed_precondition",
        message: `"${realpathSync(library)}" cannot be used together with "/another/libtensorflow.so.2", which an earlier model has loaded: a process takes one TensorFlow.`,
      }),
    );
  });

  it("is one and the same by whatever path", async () => {
    const library = await tensorflowRuntime();
    delete process.env.KSERVING_TENSORFLOW_LOADED;
    const link = `${tempFolder()}/renamed.so`;
    symlinkSync(library, link);
    expect(openTensorflow(link).TF_Version()).toBe(openTensorflow(library).TF_Version());
  });
});
