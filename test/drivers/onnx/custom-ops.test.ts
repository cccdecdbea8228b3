import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { importOnnxRuntime } from "../../../src/drivers/onnx/onnx-runtime.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { encodeModel } from "../../fixtures/make/onnx-writer.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { predict } from "../predict.ts";
import { loadOnnx, openOnnx } from "./load-onnx.ts";

const compiler = process.env.CC ?? "gcc";
const missing = await missingRuntime("The onnx driver's option custom_op_paths", async () => {
  await importOnnxRuntime();
  execFileSync(compiler, ["--version"], { stdio: "ignore" });
});

const list = { elemType: "float32", shape: ["N"] } as const;
/** A model of the operator that the test's library has. */
const HALF = encodeModel({
  opset: 17,
  domains: { test: 1 },
  graph: {
    name: "half",
    inputs: [{ name: "x", type: list }],
    outputs: [{ name: "y", type: list }],
    nodes: [{ op: "Halve", domain: "test", inputs: ["x"], outputs: ["y"] }],
  },
});

/** A folder with the model, and the library in a folder of its own. */
function compileLibrary(): { readonly model: string; readonly libraries: string } {
  const folder = tempFolder({ "model.onnx": HALF });
  const libraries = tempFolder({});
  execFileSync(compiler, [
    "-shared",
    "-fPIC",
    "test/fixtures/onnx-custom-op/halve.c",
    "-o",
    join(libraries, "halve.so"),
  ]);
  return { model: join(folder, "model.onnx"), libraries };
}

describe.skipIf(missing !== undefined)("-o custom_op_paths=", () => {
  it("gives ONNX Runtime operators that it does not have", async () => {
    const { model, libraries } = compileLibrary();
    for (const custom_op_paths of [libraries, join(libraries, "halve.so")]) {
      const half = await loadOnnx(model, { custom_op_paths });
      const x = createTensor("float32", [3], Float32Array.of(1, -2, 0.5));
      expect((await predict(half, { x })).y).toEqual(createTensor("float32", [3], Float32Array.of(0.5, -1, 0.25)));
      // How long its runs take is not known.
      expect(half.isSteady).toBe(false);
    }
  });

  it("is what the refusal of a model with such an operator asks for", async () => {
    const path = join(tempFolder({ "model.onnx": HALF }), "model.onnx");
    await expect(openOnnx(path)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringMatching(/test:Halve.* Give the library that has the operator with -o custom_op_paths=\.$/),
    });
  });

  it("refuses what is no such library, and the JavaScript API", async () => {
    const { model, libraries } = compileLibrary();
    writeFileSync(join(libraries, "text.so"), "no library");
    const refusal = (options: Record<string, string>) => expect(openOnnx(model, options)).rejects;
    const code = "failed_precondition";
    await refusal({ custom_op_paths: "none.so" }).toMatchObject({
      code,
      message: 'custom_op_paths names "none.so", which does not exist.',
    });
    await refusal({ custom_op_paths: join(libraries, "text.so") }).toMatchObject({
      code,
      message: expect.stringMatching(
        /^The custom op library "text.so" does not load into ONNX Runtime \S+: .*\. It has to export/,
      ),
    });
    await refusal({ custom_op_paths: libraries, engine: "node" }).toMatchObject({
      code,
      message: expect.stringContaining("custom_op_paths is for the engine native"),
    });
  });
});
