import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { convertToOnnx } from "../../scripts/tfjs-to-onnx.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

describe("convertToOnnx", () => {
  const weight = { name: "w", shape: [1], dtype: "float32" };

  it("refuses an operator that it does not know", async () => {
    await expect(convert([{ name: "y", op: "Einsum", input: ["w"] }])).rejects.toThrow(
      /^Operator Einsum \(node y\) is not known/,
    );
  });

  it("refuses an activation that is fused into a convolution and not known", async () => {
    const attr = { fused_ops: { list: { s: [Buffer.from("Prelu").toString("base64")] } } };
    const nodes = [{ name: "y", op: "_FusedConv2D", input: ["x", "w"], attr }];
    await expect(convert(nodes)).rejects.toThrow("Operator Prelu, fused into node y, is not known.");
  });

  it("refuses quantized weights and shapes that are not constant", async () => {
    await expect(convert([], { ...weight, dtype: "uint8", quantization: {} })).rejects.toThrow(
      /^Weight w is uint8, quantized/,
    );
    await expect(convert([{ name: "y", op: "Reshape", input: ["w", "x"] }])).rejects.toThrow("x is not a constant");
  });

  function convert(node: readonly object[], spec: object = weight): Promise<Uint8Array> {
    const model = { modelTopology: { node }, weightsManifest: [{ paths: ["w.bin"], weights: [spec] }] };
    const folder = tempFolder({ "model.json": JSON.stringify(model), "w.bin": new Uint8Array(4) });
    return convertToOnnx(join(folder, "model.json"));
  }
});
