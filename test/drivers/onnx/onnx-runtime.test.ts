import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { importOnnxRuntime } from "../../../src/drivers/onnx/onnx-runtime.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const require = createRequire(import.meta.url);

describe("importOnnxRuntime", () => {
  it("says what to install when the package is not there", async () => {
    const missing = importOnnxRuntime(() => import(["no", "such", "package"].join("-")));
    await expect(missing).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(
        /needs the package onnxruntime-node, which is not installed\. Run: npm install onnxruntime-node \(.*--onnxruntime-node-install=skip\)/,
      ),
      cause: { code: "ERR_MODULE_NOT_FOUND" },
    });
  });

  it("names the platform when the package has no library for it", async () => {
    const missing = importOnnxRuntime(async () => require(["./bin", "no-such-platform", "binding.node"].join("/")));
    await expect(missing).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining(`has no native library for ${process.platform} ${process.arch}`),
    });
  });

  it("gives the loader's reason when the library does not load", async () => {
    const folder = tempFolder({ "broken.node": "not a library" });
    const broken = importOnnxRuntime(async () => require(`${folder}/broken.node`));
    await expect(broken).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/^The native library of onnxruntime-node does not load on .*Run: npm install/),
      cause: { code: "ERR_DLOPEN_FAILED" },
    });
  });
});
