import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { predict } from "../predict.ts";
import { floats, loadModel, openModel } from "./open-model.ts";
import { openvinoRuntime } from "./openvino-runtime.ts";

const compiler = process.env.CXX ?? "g++";
const missing = await missingRuntime("OpenVINO's option extension", async () => {
  await openvinoRuntime();
  execFileSync(compiler, ["--version"], { stdio: "ignore" });
  openvinoHeaders();
});

const MODEL = "test/fixtures/openvino-extension/model.xml";

/** Those of Python's openvino, in KSERVING_TEST_OPENVINO's interpreter. */
function openvinoHeaders(): string {
  const python = process.env.KSERVING_TEST_OPENVINO;
  if (python === undefined) throw new Error("KSERVING_TEST_OPENVINO names no Python that has openvino.");
  const print = "import os, openvino; print(os.path.join(os.path.dirname(openvino.__file__), 'include'))";
  return execFileSync(python, ["-c", print], { encoding: "utf8" }).trim();
}

/** Compiles the extension for the runtime that the tests run. */
async function compileExtension(): Promise<string> {
  const library = join(tempFolder(), "libtwice.so");
  const folder = dirname(await openvinoRuntime());
  const core = readdirSync(folder).find((name) => /^libopenvino\.(so\.\d+|\d+\.dylib)$/.test(name)) as string;
  const source = "test/fixtures/openvino-extension/twice.cpp";
  const flags = ["-std=c++17", "-shared", "-fPIC", `-I${openvinoHeaders()}`];
  execFileSync(compiler, [...flags, source, join(folder, core), "-o", library]);
  return library;
}

describe.skipIf(missing !== undefined)("-o extension=", () => {
  it("gives OpenVINO operations that it does not have", async () => {
    const model = await loadModel(MODEL, { extension: await compileExtension() });
    expect((await predict(model, { x: floats([3], 1, -2, 0.5) })).y).toEqual(floats([3], 2, -4, 1));
  });

  it("is what the refusal of a model with such an operation asks for", async () => {
    await expect(openModel(MODEL)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/Twice.* Give the library of a custom operation with -o extension=\.$/),
    });
  });
});
