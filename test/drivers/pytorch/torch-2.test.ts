import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTensor, type Tensor } from "../../../src/tensor/tensor.ts";
import { findPython } from "../../helpers/find-python.ts";
import { expectTensors } from "../expect-tensors.ts";
import { predict } from "../predict.ts";
import { loadModel } from "../python/load-model.ts";
import { makeTorchCases, type TorchCases } from "./torch-cases.ts";

const python = findPython("What torch 2 has beyond torch 1.13", ["torch"]);
const NONE: TorchCases = { folder: "", torch: "", cases: {} };
const { folder, torch, cases } = python === undefined ? NONE : makeTorchCases(python);
const isTorch2 = Number.parseInt(torch, 10) >= 2;
if (!isTorch2)
  process.stderr.write(`What torch 2 has beyond torch 1.13 is not tested: this is torch ${torch || "none"}\n`);
/** The compiler takes its time, and so does the first import of a build with CUDA. */
const TIMEOUT_MS = 300_000;

describe.skipIf(!isTorch2)("the pytorch driver with torch 2", { timeout: TIMEOUT_MS }, () => {
  const load = (name: string, options: Record<string, string> = {}) =>
    loadModel("pytorch", join(folder, name), { options: { python: python ?? "", ...options } });
  const rows = (columns: number, ...values: number[]) =>
    createTensor("float32", [values.length / columns, columns], Float32Array.from(values));

  it("takes the signature of an exported program from its file, with the sizes that are free", async () => {
    const model = await load("named.pt2");
    expect(model.signatures.serving_default).toEqual({
      inputs: [{ name: "x", dtype: "float32", shape: [-1, 4] }],
      outputs: [
        { name: "double", dtype: "float32", shape: [-1, 4] },
        { name: "mean", dtype: "float32", shape: [] },
      ],
    });
    const { double } = await predict(model, { x: rows(4, 1, 2, 3, 4) });
    expect(double).toEqual(rows(4, 2, 4, 6, 8));
  });

  it("reports inputs that an exported program refuses", async () => {
    const model = await load("net.pt2");
    await expect(predict(model, { x: rows(3, 1, 2, 3) })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("Guard failed"),
    });
  });

  it.each(["net.pt2", "half.pt2"])("casts the exported program %s to float16", async (name) => {
    const model = await load(name, { half: "true" });
    const { output } = await predict(model, { x: rows(4, 1, 2, 3, 4) });
    expect(output).toMatchObject({ dtype: "float16" });
  });

  it("refuses to compile TorchScript", async () => {
    await expect(load("net.script.pt", { compile: "true" })).rejects.toThrow("torch.compile takes no TorchScript");
  });

  it("compiles while it loads, where shapes are given", async () => {
    const options = { model_class: "toy.nets:Net", compile: "true", inputs: "x[-1,4]" };
    const model = await load("net.state.pt", options);
    expectTensors(await predict(model, cases.net!.inputs), { output: cases.net!.outputs[0] as Tensor }, 1e-6);
    await expect(predict(model, { x: rows(3, 1, 2, 3) })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^The model refuses the inputs: RuntimeError: .*same reduction dim/),
    });
  });
});
