import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parseOptions, type RawOptions } from "../../../src/drivers/option-table.ts";
import { TENSORFLOW_OPTIONS, type TensorflowOptions } from "../../../src/drivers/tensorflow/engine.ts";
import type { ModelFormat } from "../../../src/drivers/tensorflow/model-source.ts";
import { chooseEngine } from "../../../src/drivers/tensorflow/tensorflow.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const LIBRARIES = { "libtensorflow_cc.so.2": "", "libtensorflow_framework.so.2": "" };

function choose(format: ModelFormat, options: RawOptions = {}) {
  return chooseEngine({ format, path: "m" }, parseOptions<TensorflowOptions>(TENSORFLOW_OPTIONS, options));
}

beforeEach(() => {
  for (const name of ["KSERVING_TENSORFLOW_LIB", "TENSORFLOW_LIB", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH"])
    vi.stubEnv(name, undefined);
  vi.stubEnv("KSERVING_RUNTIMES_DIR", "/nowhere");
  // No python3.
  vi.stubEnv("PATH", "/nowhere");
});
afterEach(() => vi.unstubAllEnvs());

describe("the engine", () => {
  it.runIf(process.platform === "linux")("is TensorFlow itself where that is found", () => {
    vi.stubEnv("KSERVING_TENSORFLOW_LIB", tempFolder(LIBRARIES));
    const native = { engine: "native", reason: "libtensorflow was found by KSERVING_TENSORFLOW_LIB" };
    expect(choose("saved-model")).toEqual(native);
    expect(choose("frozen-graph")).toEqual(native);
  });

  it("is the portable one where that is not found", () => {
    expect(choose("saved-model")).toMatchObject({ engine: "portable" });
    expect(choose("frozen-graph")).toMatchObject({ engine: "portable" });
  });

  it("is the only one that loads a format", () => {
    const formats = ["tfjs-graph", "tfjs-layers", "tflite", "h5", "keras"] as const;
    expect(formats.map((format) => choose(format).engine)).toEqual(["tfjs", "tfjs", "tflite", "keras", "keras"]);
  });

  it("is the one that was asked for", () => {
    expect(choose("saved-model", { engine: "portable" })).toEqual({ engine: "portable", reason: "-o engine=portable" });
    expect(choose("saved-model", { engine: "native" })).toEqual({ engine: "native", reason: "-o engine=native" });
  });

  it.each([
    ["tfjs", "saved-model", "native or portable"],
    ["native", "tflite", "tflite"],
  ] as const)("is refused when it is %s and the model a %s", (engine, format, able) => {
    expect(() => choose(format, { engine })).toThrow(
      expect.objectContaining({ code: "failed_precondition", message: expect.stringContaining(`: ${able} loads it`) }),
    );
  });
});
