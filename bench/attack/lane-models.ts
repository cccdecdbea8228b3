import { encodeModel, type OnnxNode } from "../../test/fixtures/make/onnx-writer.ts";

/** Numbers that a request gives. */
export const LANE_NUMBERS = 1500;

const node = (op: string, inputs: string[], output: string, attributes: OnnxNode["attributes"] = {}): OnnxNode => {
  return { op, inputs, outputs: [output], attributes };
};
const toFloat = (from: string, to: string) => node("Cast", [from], to, { to: 1 });

/** Multiplies a matrix of as many rows and columns as `kept`, of shape [1, n], has numbers, some times by itself. */
const DEAR_PART: readonly OnnxNode[] = [
  node("Transpose", ["kept"], "column", { perm: [1, 0] }),
  node("MatMul", ["column", "kept"], "square"),
  node("MatMul", ["square", "square"], "fourth"),
  node("MatMul", ["fourth", "fourth"], "eighth"),
  node("ReduceSum", ["eighth"], "y", { keepdims: 0 }),
];

/** Ways in which the values of x, most of them 0 or most of them 1, decide how many numbers are kept. */
export const LANE_MODELS: Readonly<Record<string, readonly OnnxNode[]>> = {
  nonzero: [node("NonZero", ["x"], "places"), toFloat("places", "kept")],
  compress: [toBool("x", "condition"), node("Compress", ["x", "condition"], "some"), asRow("some")],
  slice: [
    node("ReduceSum", ["x"], "sum", { keepdims: 1 }),
    node("Cast", ["sum"], "end", { to: 7 }),
    node("Slice", ["x", "zero", "end"], "some"),
    asRow("some"),
  ],
  unique: [
    node("CumSum", ["x", "axis"], "different"),
    node("Unique", ["different"], "some", { sorted: 1 }),
    asRow("some"),
  ],
};

/** The bytes of such a model. */
export function encodeLaneModel(nodes: readonly OnnxNode[]): Uint8Array {
  return encodeModel({
    opset: 17,
    graph: {
      name: "lane",
      inputs: [{ name: "x", type: { elemType: "float32", shape: ["N"] } }],
      outputs: [{ name: "y", type: { elemType: "float32", shape: [] } }],
      initializers: [
        { name: "zero", dtype: "int64", shape: [1], data: BigInt64Array.of(0n) },
        { name: "axis", dtype: "int64", shape: [], data: BigInt64Array.of(0n) },
        { name: "row", dtype: "int64", shape: [2], data: BigInt64Array.of(1n, -1n) },
      ],
      nodes: [...nodes, ...DEAR_PART],
    },
  });
}

function toBool(from: string, to: string): OnnxNode {
  return node("Cast", [from], to, { to: 9 });
}

function asRow(from: string): OnnxNode {
  return node("Reshape", [from, "row"], "kept");
}
