import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { valuesThatBound } from "../../../src/drivers/onnx/bounded-runs.ts";
import { readModelFile } from "../../../src/drivers/onnx/model-file.ts";
import { DRIVER_NAMES, findDriver } from "../../../src/drivers/registry.ts";
import { encodeModel, type OnnxGraph, type OnnxNode } from "../../fixtures/make/onnx-writer.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { modelPath } from "./load-onnx.ts";

const float = (name: string) => ({ name, type: { elemType: "float32", shape: ["N"] } }) as const;
const whole = (name: string) => ({ name, type: { elemType: "int64", shape: [1] } }) as const;
const REPEATS = { name: "repeats", dtype: "int64", shape: [1], data: BigInt64Array.of(2n) } as const;

function hasBoundedRuns(nodes: readonly OnnxNode[]): boolean | undefined {
  const graph: OnnxGraph = {
    name: "graph",
    inputs: [float("x"), whole("count")],
    outputs: [float("y")],
    initializers: [REPEATS],
    nodes,
  };
  const domains = { "com.microsoft": 1, "ai.onnx.ml": 3, "my.own": 1 };
  const model = encodeModel({ opset: 17, domains, graph });
  return readModelFile(`${tempFolder({ "model.onnx": model })}/model.onnx`)?.hasBoundedRuns;
}

const node = (op: string, inputs: string[], output = "y", more: Partial<OnnxNode> = {}): OnnxNode => {
  return { op, inputs, outputs: [output], ...more };
};
const BRANCH = { name: "branch", inputs: [], outputs: [float("z")], nodes: [node("Neg", ["x"], "z")] };

describe("a model whose runs take a time that shapes alone decide", () => {
  it.each<[string, OnnxNode[]]>([
    ["has operators whose work is that of their shapes", [node("Neg", ["x"])]],
    ["repeats numbers as often as a constant says", [node("Tile", ["x", "repeats"])]],
    ["leaves the inputs out that would decide", [node("Resize", ["x"])]],
    [
      "gives numbers a shape that it computes of shapes",
      [node("Shape", ["x"], "s"), node("Mul", ["s", "repeats"], "t"), node("Expand", ["x", "t"])],
    ],
    ["finds what is not zero in a constant", [node("NonZero", ["repeats"])]],
    ["has operators of ONNX Runtime", [node("FastGelu", ["x"], "y", { domain: "com.microsoft" })]],
  ])("%s", (_, nodes) => {
    expect(hasBoundedRuns(nodes)).toBe(true);
  });
});

describe("a model whose runs a request makes longer", () => {
  it.each<[string, OnnxNode[]]>([
    ["repeats numbers as often as the request says", [node("Tile", ["x", "count"])]],
    ["makes as many numbers", [node("ConstantOfShape", ["count"])]],
    ["gives numbers another shape", [node("Reshape", ["x", "count"])]],
    [
      "decides by numbers that it computes of a request's",
      [node("Mul", ["count", "repeats"], "t"), node("Expand", ["x", "t"])],
    ],
    ["takes a slice of that length", [node("Slice", ["x", "repeats", "count"])]],
    ["finds what is not zero", [node("NonZero", ["x"])]],
    ["keeps what a condition says", [node("Compress", ["x", "x"])]],
    ["keeps what is there once", [node("Unique", ["x"])]],
    ["looks for boxes", [node("NonMaxSuppression", ["x", "x", "repeats"])]],
    ["goes one way or another", [node("If", ["x"], "y", { attributes: { then_branch: { graph: BRANCH } } })]],
    ["keeps a graph where none is expected", [node("Neg", ["x"], "y", { attributes: { body: { graph: BRANCH } } })]],
    ["compares texts with a pattern", [node("RegexFullMatch", ["x"])]],
    ["splits texts", [node("Tokenizer", ["x"], "y", { domain: "com.microsoft" })]],
    ["has an operator of another library", [node("Neg", ["x"], "y", { domain: "my.own" })]],
    ["has an operator that nothing is known of", [node("Add2030", ["x"])]],
    ["has an operator with the name of an object's member", [node("constructor", ["x"])]],
  ])("%s", (_, nodes) => {
    expect(hasBoundedRuns([node("Neg", ["x"], "first"), ...nodes])).toBe(false);
  });

  it("has a loop whose turns a request decides", () => {
    expect(readModelFile(modelPath("slow.onnx"))?.hasBoundedRuns).toBe(false);
  });
});

describe("the list of operators that bound a run", () => {
  const kernels: { readonly domain: string; readonly operator: string }[] = JSON.parse(
    readFileSync(new URL("../../../scripts/operators/onnx-kernels.json", import.meta.url), "utf8"),
  );

  it("leaves out each of ONNX Runtime's operators that depends on values, or of which nothing was found out", () => {
    const refused = kernels.filter(({ domain, operator }) => valuesThatBound(domain, operator) === undefined);
    expect(refused.map(({ domain, operator }) => [domain, operator].filter(Boolean).join(":"))).toEqual(REFUSED);
  });
});

it("no other driver makes runs in the main thread", async () => {
  const found = await Promise.all(DRIVER_NAMES.map(findDriver));
  const quick = found.filter(({ driver }) => driver.loadQuick !== undefined);
  expect(quick.map(({ driver }) => driver.name)).toEqual(["onnx"]);
});

/** By domain: control flow, texts, sequences, numbers at random, trees, whose paths are of any length, and new ones. */
const REFUSED = `
  ConcatFromSequence DynamicSlice If Loop MaxRoiPool MemcpyFromHost MemcpyToHost Multinomial Optional
  OptionalGetElement OptionalHasElement RandomNormal RandomNormalLike RandomUniform RandomUniformLike RegexFullMatch
  RoiAlign Scan SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SplitToSequence
  StringConcat StringNormalizer StringSplit TfIdfVectorizer
  ai.onnx.ml:CastMap ai.onnx.ml:CategoryMapper ai.onnx.ml:DictVectorizer ai.onnx.ml:TreeEnsemble
  ai.onnx.ml:TreeEnsembleClassifier ai.onnx.ml:TreeEnsembleRegressor
  com.microsoft:AttnLSTM com.microsoft:BeamSearch com.microsoft:BifurcationDetector com.microsoft:BranchwiseRMSNorm
  com.microsoft:CausalConvWithState com.microsoft:ConvTransposeWithDynamicPads com.microsoft:CropAndResize
  com.microsoft:DecoderMaskedMultiHeadAttention com.microsoft:DynamicTimeWarping com.microsoft:EngramGate
  com.microsoft:GatedAdd com.microsoft:GatedDeltaNet com.microsoft:GatedRMSNorm com.microsoft:GatherBlockQuantized
  com.microsoft:GatherPacked com.microsoft:GreedySearch com.microsoft:GroupQueryAttention
  com.microsoft:HyperConnectionPostMix com.microsoft:HyperConnectionPreMix com.microsoft:LinearAttention
  com.microsoft:LinearAttentionGate com.microsoft:MRotaryEmbedding com.microsoft:MaxpoolWithMask com.microsoft:MoE
  com.microsoft:MoEGroupRouter com.microsoft:MurmurHash3 com.microsoft:NGramHashMapping com.microsoft:NGramRepeatBlock
  com.microsoft:QMoE com.microsoft:SampleOp com.microsoft:Sampling com.microsoft:ScaledSiLU
  com.microsoft:SparseAttention com.microsoft:SparseToDenseMatMul com.microsoft:Tokenizer com.microsoft:UnfoldTensor
  com.microsoft:VarlenCausalConvWithState com.microsoft:VarlenNGramHashMapping com.microsoft:WhisperBeamSearch
  com.microsoft:WordConvEmbedding
`
  .trim()
  .split(/\s+/);
