import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openEngine } from "../../../src/drivers/onnx/onnx.ts";
import { importOnnxRuntime } from "../../../src/drivers/onnx/onnx-runtime.ts";
import { ONNX_OPTIONS, type OnnxOptions } from "../../../src/drivers/onnx/session-options.ts";
import { parseOptions } from "../../../src/drivers/option-table.ts";
import { findOnnx } from "../../../src/storage/runtimes/onnx.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { missingRuntime } from "../missing-runtime.ts";

const missing = await missingRuntime("The engines of the onnx driver", importOnnxRuntime);

/** A copy of ONNX Runtime whose JavaScript API works, and whose library is not where the C API is looked for. */
function copyWithoutLibrary() {
  const entry = `module.exports = require(${JSON.stringify(findOnnx()[0]!.path)});`;
  return { path: tempFolder({ "package.json": '{"main":"index.js"}', "index.js": entry }), source: "elsewhere" };
}

const toOptions = (engine: string) => parseOptions<OnnxOptions>(ONNX_OPTIONS, { engine });

describe.skipIf(missing !== undefined)("openEngine", () => {
  it("takes the C API of the library that the npm package brings", async () => {
    const { log, events } = createEventLog();
    const { name, version, providers } = await openEngine(toOptions("auto"), log);
    expect({ name, version, providers, events }).toMatchObject({
      name: "native",
      version: expect.stringMatching(/^1\.\d+\.\d+/),
      providers: expect.arrayContaining(["cpu"]),
      events: [],
    });
  });

  it("takes the JavaScript API where the library cannot be called, and says so in one line", async () => {
    const { log, events } = createEventLog();
    const { name, source } = await openEngine(toOptions("auto"), log, [copyWithoutLibrary()]);
    expect({ name, source }).toEqual({ name: "node", source: "elsewhere" });
    expect(events).toEqual([
      expect.objectContaining({
        level: "warn",
        msg: expect.stringMatching(/^ONNX Runtime is called by its JavaScript API, .* cannot be loaded on /),
      }),
    ]);
  });

  it("takes nothing else where the C API is asked for", async () => {
    const { log } = createEventLog();
    await expect(openEngine(toOptions("native"), log, [copyWithoutLibrary()])).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining("cannot be loaded on"),
    });
  });

  it.runIf(process.platform === "linux").each(["CUDA", "GPU", "TENSORRT"])(
    "names the command that installs ONNX Runtime for %s where that is not there, and takes nothing else",
    async (runtime_backend) => {
      const nothing = tempFolder();
      onTestFinished(() => void vi.unstubAllEnvs());
      for (const name of ["KSERVING_RUNTIMES_DIR", "VIRTUAL_ENV", "CONDA_PREFIX", "PATH"]) vi.stubEnv(name, nothing);
      const options = parseOptions<OnnxOptions>(ONNX_OPTIONS, { runtime_backend });
      await expect(openEngine(options, createEventLog().log)).rejects.toMatchObject({
        code: "failed_precondition",
        message: expect.stringMatching(
          /^ONNX Runtime with CUDA is not .* Run: kserving runtimes install onnx --device cuda /,
        ),
      });
    },
  );

  it("names the command that installs ONNX Runtime where there is none", async () => {
    const { log } = createEventLog();
    await expect(openEngine(toOptions("auto"), log, [])).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining("Run: kserving runtimes install onnx"),
    });
  });
});
