import { describe, expect, it } from "vitest";
import { importOnnxRuntime } from "../../../src/drivers/onnx/onnx-runtime.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** A package whose entry imports a library as onnxruntime-node does. */
function packageThatRequires(library: string) {
  const files = { "package.json": '{"main":"index.js"}', "index.js": `require(${JSON.stringify(library)});` };
  return { path: tempFolder({ ...files, "broken.node": "not a library" }), source: "the runtimes folder" };
}

describe("importOnnxRuntime", () => {
  it("names the one command that gets it where there is none", async () => {
    await expect(importOnnxRuntime([])).rejects.toMatchObject({
      code: "failed_precondition",
      message:
        "ONNX Runtime is not installed, or not where it is looked for. Looked for it in: the npm package onnxruntime-node, the runtimes folder. Run: kserving runtimes install onnx (kserving runtimes list shows what is found where).",
    });
  });

  it("names the platform where a copy has no library for it", async () => {
    await expect(importOnnxRuntime([packageThatRequires("./bin/no-such-platform.node")])).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(
        `^ONNX Runtime of the runtimes folder has no native library for ${process.platform} ${process.arch}, or is incomplete .*Run: kserving runtimes install onnx`,
      ),
    });
  });

  it("gives the loader's reason where the library does not load", async () => {
    await expect(importOnnxRuntime([packageThatRequires("./broken.node")])).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/ does not load on .*broken\.node.*Run: kserving runtimes install onnx/),
      cause: { code: "ERR_DLOPEN_FAILED" },
    });
  });

  it("takes the next copy where the first one does not load", async () => {
    const path = new URL("../../../node_modules/onnxruntime-node", import.meta.url).pathname;
    const { api, source } = await importOnnxRuntime([packageThatRequires("./broken.node"), { path, source: "npm" }]);
    expect([api.InferenceSession, source]).toEqual([expect.any(Function), "npm"]);
  });
});
