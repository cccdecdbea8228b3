import { afterAll, describe, expect, it } from "vitest";
import type { Trial } from "../../../scripts/operators/subject.ts";
import { TryingProcess } from "../../../scripts/operators/sweep.ts";
import { importOnnxRuntime } from "../../../src/drivers/onnx/onnx-runtime.ts";
import type { DType, NumericDType } from "../../../src/tensor/dtype.ts";
import { createTensors } from "../../../src/tensor/tensor.ts";
import { encodeModel, type OnnxGraph, type OnnxNode, type ValueInfo } from "../../fixtures/make/onnx-writer.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { missingRuntime } from "../missing-runtime.ts";
import { tensorOf } from "../tensorflow/portable/graph-writer.ts";

const missing = await missingRuntime("Guards of ONNX Runtime's operators", importOnnxRuntime);

type Given = Readonly<
  Record<string, readonly [dtype: DType, shape: readonly number[], ...values: (number | string)[]]>
>;

/** The process of all models: one that ended it would be told as such, and the next ones have another. */
const trying = new TryingProcess();
afterAll(() => trying.end());

/** A model's answers to some inputs, from that process. */
function outcomes(graph: Partial<OnnxGraph>, ...givens: Given[]): Promise<string[]> {
  return outcomesOf(18, graph, ...givens);
}

/** The same of a model with an older version of the operators. */
async function outcomesOf(opset: number, graph: Partial<OnnxGraph>, ...givens: Given[]): Promise<string[]> {
  const model = { name: "graph", inputs: [], outputs: [], nodes: [], ...graph };
  const path = `${tempFolder({ "model.onnx": encodeModel({ opset, graph: model }) })}/model.onnx`;
  const trials = givens.map((given): Trial => {
    const tensors = Object.entries(given).map(
      ([name, [dtype, shape, ...values]]) => [name, tensorOf(dtype, shape, values)] as const,
    );
    return { what: "", inputs: createTensors(tensors) };
  });
  const subject = { operator: "", driver: "onnx", options: { engine: "native" }, path, trials };
  return (await trying.tryAll(subject)).map(({ outcome }) => outcome);
}

const value = (name: string, elemType: NumericDType, ...shape: (number | string)[]): ValueInfo => ({
  name,
  type: { elemType: elemType as "int32", shape },
});
const ones = (name: string, ...shape: number[]) => {
  const data = new Float32Array(shape.reduce((one, other) => one * other)).fill(1);
  return { name, dtype: "float32", shape, data } as const;
};

const GATES = { RNN: 1, GRU: 3, LSTM: 4 };

/** A recurrent operator on rows of two numbers, which a request gives by rows and steps. */
function recurrent(operator: keyof typeof GATES): Partial<OnnxGraph> {
  const gates = GATES[operator];
  return {
    inputs: [value("x", "float32", "batch", "time", 2)],
    outputs: [value("h", "float32", 1, "batch", 3)],
    initializers: [ones("w", 1, gates * 3, 2), ones("r", 1, gates * 3, 3)],
    nodes: [
      { op: "Transpose", inputs: ["x"], outputs: ["t"], attributes: { perm: [1, 0, 2] } },
      { op: operator, inputs: ["t", "w", "r"], outputs: ["", "h"], attributes: { hidden_size: 3 } },
    ],
  };
}

describe.skipIf(missing !== undefined)("an operator of ONNX Runtime does not end the process", () => {
  it.each(["RNN", "GRU", "LSTM"] as const)("%s on no rows, and on no steps", async (operator) => {
    const found = await outcomes(
      recurrent(operator),
      { x: ["float32", [0, 4, 2]] },
      { x: ["float32", [2, 0, 2]] },
      { x: ["float32", [1, 1, 2], 0, 0] },
    );
    const refused = `invalid_argument: The model's ${operator} "" takes 3 dimensions: one step or more, of one row or more, of 2 numbers each. The inputs were x float32`;
    expect(found).toEqual([
      `${refused}[0,4,2].`,
      `${refused}[2,0,2].`,
      expect.stringMatching(/^answered: h .*\[1,1,3\] 0/),
    ]);
  });

  it.each([
    ["Div", "int32", -(2 ** 31), "-2147483648,-7"],
    ["Div", "int64", "-9223372036854775808", "-9223372036854775808,-7"],
    ["Mod", "int32", -(2 ** 31), "0,0"],
    ["Mod", "int64", "-9223372036854775808", "0,0"],
  ] as const)("%s of %s, where the least value is divided by -1", async (operator, dtype, least, expected) => {
    const inputs = [value("a", dtype, "n"), value("b", dtype, "n")];
    const nodes = [{ op: operator, inputs: ["a", "b"], outputs: ["y"] }];
    const found = await outcomes(
      { inputs, outputs: [value("y", dtype, "n")], nodes },
      { a: [dtype, [2], least, 7], b: [dtype, [2], -1, -1] },
      { a: [dtype, [2], 9, 7], b: [dtype, [2], 2, 0] },
    );
    expect(found).toEqual([
      `answered: y ${dtype}[2] ${expected}`,
      expect.stringMatching(/^invalid_argument: The model failed in (Div|Mod) "": .* by zero\. The inputs were a/),
    ]);
  });

  it.each([7, 8, 9, 10])("in version %s of the operators: Div, GRU and a transposed convolution", async (opset) => {
    const inputs = [value("a", "int64", "n"), value("b", "int64", "n")];
    const divided = await outcomesOf(
      opset,
      { inputs, outputs: [value("y", "int64", "n")], nodes: [{ op: "Div", inputs: ["a", "b"], outputs: ["y"] }] },
      { a: ["int64", [3], "-9223372036854775808", 7, 9], b: ["int64", [3], -1, -1, 2] },
    );
    expect(divided).toEqual(["answered: y int64[3] -9223372036854775808,-7,4"]);
    const rows = await outcomesOf(
      opset,
      recurrent("GRU"),
      { x: ["float32", [0, 4, 2]] },
      { x: ["float32", [1, 1, 2], 0, 0] },
    );
    expect(rows).toEqual([
      expect.stringMatching(/^invalid_argument: .* takes 3 dimensions/),
      expect.stringMatching(/^answered/),
    ]);
    const convolution = {
      inputs: [value("x", "float32", "n", 1, "h", 2)],
      outputs: [value("y", "float32", "n", 1, "h", "w")],
      initializers: [ones("w", 1, 1, 2, 2)],
      nodes: [{ op: "ConvTranspose", inputs: ["x", "w"], outputs: ["y"] }],
    };
    const found = await outcomesOf(
      opset,
      convolution,
      { x: ["float32", [1, 1, 0, 2]] },
      { x: ["float32", [1, 1, 1, 2], 1, 1] },
    );
    expect(found).toEqual([
      expect.stringMatching(/^invalid_argument: .* takes inputs without sizes of 0/),
      "answered: y float32[1,1,2,3] 1,2,1,1",
    ]);
  });

  it.each<[string, OnnxNode[]]>([
    ["computed", [{ op: "Neg", inputs: ["one"], outputs: ["b"] }]],
    ["a constant", [{ op: "Identity", inputs: ["minus"], outputs: ["b"] }]],
  ])("Div where the divisor is %s, in the branch of an If", async (_what, before) => {
    const inner = { name: "then", inputs: [], outputs: [{ name: "q" }] };
    const nodes = [...before, { op: "Div", inputs: ["a", "b"], outputs: ["q"] }];
    const other = { ...inner, outputs: [{ name: "p" }], nodes: [{ op: "Identity", inputs: ["a"], outputs: ["p"] }] };
    const branches = { then_branch: { graph: { ...inner, nodes } }, else_branch: { graph: other } };
    const found = await outcomes(
      {
        inputs: [value("a", "int64", "n"), value("c", "bool")],
        outputs: [value("y", "int64", "n")],
        initializers: [
          { name: "one", dtype: "int64", shape: [1], data: BigInt64Array.of(1n) },
          { name: "minus", dtype: "int64", shape: [1], data: BigInt64Array.of(-1n) },
        ],
        nodes: [{ op: "If", inputs: ["c"], outputs: ["y"], attributes: branches }],
      },
      { a: ["int64", [1], "-9223372036854775808"], c: ["bool", [], 1] },
    );
    expect(found).toEqual(["answered: y int64[1] -9223372036854775808"]);
  });

  it("Div where a request replaces the divisor that the model has", async () => {
    const found = await outcomes(
      {
        inputs: [value("a", "int64", "n"), value("b", "int64", 1)],
        outputs: [value("y", "int64", "n")],
        initializers: [{ name: "b", dtype: "int64", shape: [1], data: BigInt64Array.of(2n) }],
        nodes: [{ op: "Div", inputs: ["a", "b"], outputs: ["y"] }],
      },
      { a: ["int64", [1], 8] },
      { a: ["int64", [1], "-9223372036854775808"], b: ["int64", [1], -1] },
    );
    expect(found).toEqual(["answered: y int64[1] 4", "answered: y int64[1] -9223372036854775808"]);
  });

  it("Split with outputs that are left out", async () => {
    const outputs = ["", "y", "", ""];
    const split = { op: "Split", inputs: ["x"], outputs, attributes: { axis: -1, num_outputs: 4 } };
    const found = await outcomes(
      { inputs: [value("x", "float32", 8)], outputs: [value("y", "float32", 2)], nodes: [split] },
      { x: ["float32", [8], 0, 1, 2, 3, 4, 5, 6, 7] },
    );
    expect(found).toEqual(["answered: y float32[2] 2,3"]);
  });

  it("TopK of no rows, and of as many as asked for of each", async () => {
    const found = await outcomes(
      {
        inputs: [value("x", "float32", "n", 3)],
        outputs: [value("best", "float32", "n", 2)],
        initializers: [{ name: "k", dtype: "int64", shape: [1], data: BigInt64Array.of(2n) }],
        nodes: [{ op: "TopK", inputs: ["x", "k"], outputs: ["best", "places"], name: "pick" }],
      },
      { x: ["float32", [0, 3]] },
      { x: ["float32", [1, 3], 1, 3, 2] },
    );
    expect(found).toEqual([
      `invalid_argument: The model's TopK "pick" takes inputs without sizes of 0, but along dimension -1. The inputs were x float32[0,3].`,
      "answered: best float32[1,2] 3,2",
    ]);
  });

  it("Unique of no columns, and Einsum over no elements", async () => {
    const unique = { op: "Unique", inputs: ["x"], outputs: ["y"], attributes: { axis: 0 } };
    const product = { op: "Einsum", inputs: ["x", "x"], outputs: ["y"], attributes: { equation: "ij,kj->ik" } };
    for (const node of [unique, product]) {
      const found = await outcomes(
        { inputs: [value("x", "float32", "n", "m")], outputs: [value("y", "float32", "n2", "m2")], nodes: [node] },
        { x: ["float32", [3, 0]] },
        { x: ["float32", [1, 1], 2] },
      );
      expect(found).toEqual([
        expect.stringMatching(/^invalid_argument: The model's (Unique|Einsum) "" takes inputs without sizes of 0/),
        expect.stringMatching(/^answered: y float32\[1,1\] [24]$/),
      ]);
    }
  });

  it.each([
    ["ConvTranspose", [ones("w", 1, 1, 2, 2)], { strides: [2, 2] }],
    ["InstanceNormalization", [ones("w", 1), ones("b", 1)], {}],
  ] as const)("%s of an image without rows", async (operator, initializers, attributes) => {
    const inputs = ["x", ...initializers.map(({ name }) => name)];
    const found = await outcomes(
      {
        inputs: [value("x", "float32", "n", 1, "h", "w")],
        outputs: [value("y", "float32", "n", 1, "h2", "w2")],
        initializers,
        nodes: [{ op: operator, inputs, outputs: ["y"], attributes }],
      },
      { x: ["float32", [1, 1, 0, 2]] },
      { x: ["float32", [1, 1, 1, 1], 1] },
    );
    expect(found).toEqual([
      expect.stringMatching(/^invalid_argument: The model's \w+ "" takes inputs without sizes of 0/),
      expect.stringMatching(/^answered: y float32\[1,1,/),
    ]);
  });
});
