import { describe, expect, it } from "vitest";
import { encodeModel, type OnnxGraph, type OnnxNode } from "../../../scripts/onnx-writer.ts";
import { readModelFile } from "../../../src/drivers/onnx/model-file.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { modelPath } from "./load-onnx.ts";

const float = (name: string) => ({ name, type: { elemType: "float32", shape: ["N"] } }) as const;
const REPEATS = { name: "repeats", dtype: "int64", shape: [1], data: BigInt64Array.of(2n) } as const;

function hasBoundedRuns(nodes: readonly OnnxNode[]): boolean | undefined {
  const graph: OnnxGraph = {
    name: "graph",
    inputs: [float("x"), { name: "count", type: { elemType: "int64", shape: [1] } }],
    outputs: [float("y")],
    initializers: [REPEATS],
    nodes,
  };
  return readModelFile(`${tempFolder({ "model.onnx": encodeModel({ opset: 17, graph }) })}/model.onnx`)?.hasBoundedRuns;
}

describe("a model whose runs take a time that shapes alone decide", () => {
  it.each<[string, boolean, OnnxNode[]]>([
    ["has no operator of another kind", true, [{ op: "Neg", inputs: ["x"], outputs: ["y"] }]],
    ["repeats numbers as often as a constant says", true, [{ op: "Tile", inputs: ["x", "repeats"], outputs: ["y"] }]],
    ["repeats numbers as often as a request says", false, [{ op: "Tile", inputs: ["x", "count"], outputs: ["y"] }]],
    ["leaves the inputs out that would decide", true, [{ op: "Resize", inputs: ["x"], outputs: ["y"] }]],
  ])("%s: %s", (_what, expected, nodes) => {
    expect(hasBoundedRuns(nodes)).toBe(expected);
  });

  it("has no loop whose turns a request decides", () => {
    expect(readModelFile(modelPath("slow.onnx"))?.hasBoundedRuns).toBe(false);
  });
});
