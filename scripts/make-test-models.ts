import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Attribute, type ElementType, encodeModel, type OnnxGraph, type ValueInfo } from "./onnx-writer.ts";

/** Folder of the models. */
export const TEST_MODELS_FOLDER = fileURLToPath(new URL("../test/fixtures/models/", import.meta.url));

const DTYPES: readonly ElementType[] = [
  ...(["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"] as const),
  ...(["float16", "bfloat16", "float32", "float64", "complex64", "complex128", "string"] as const),
];

/** Every file of test/fixtures/models, by name; the same bytes each time. */
export function testModelFiles(): Record<string, Uint8Array> {
  const models = { ...identities(), ...arithmetic(), ...shapes(), ...names(), ...notTensors(), ...troubles() };
  const files = Object.entries(models).map(([name, graph]) => [`${name}.onnx`, encode(name, graph)]);
  return { ...Object.fromEntries(files), ...externalDataFile(), ...notModels() };
}

type Models = Record<string, Omit<OnnxGraph, "name">>;

/** y is x. */
function identities(): Models {
  const identity = (dtype: ElementType) => ({
    inputs: [tensor("x", dtype, ["N"])],
    outputs: [tensor("y", dtype, ["N"])],
    nodes: [node("Identity", ["x"], ["y"])],
  });
  return Object.fromEntries(DTYPES.map((dtype) => [`identity-${dtype}`, identity(dtype)]));
}

function arithmetic(): Models {
  return {
    // y = x / 2 + 2: what TensorFlow Serving's own samples serve.
    "half-plus-two": {
      inputs: [float("x", ["N"])],
      outputs: [float("y", ["N"])],
      initializers: [constant("half", 0.5), constant("two", 2)],
      nodes: [node("Mul", ["x", "half"], ["halved"]), node("Add", ["halved", "two"], ["y"])],
    },
    "add-two-inputs": {
      inputs: [float("a", ["N"]), float("b", ["N"])],
      outputs: [float("sum", ["N"])],
      nodes: [node("Add", ["a", "b"], ["sum"])],
    },
    "split-two-outputs": {
      inputs: [float("x", ["N", 4])],
      outputs: [float("left", ["N", 2]), float("right", ["N", 2])],
      nodes: [node("Split", ["x"], ["left", "right"], { axis: 1 })],
    },
    "matmul-dynamic-batch": {
      inputs: [float("x", ["batch", 3])],
      outputs: [float("y", ["batch", 2])],
      initializers: [{ name: "w", dtype: "float32", shape: [3, 2], data: Float32Array.of(1, 2, 3, 4, 5, 6) }],
      nodes: [node("MatMul", ["x", "w"], ["y"])],
    },
    // y = x + w, with w in a file of its own.
    "external-data": {
      inputs: [float("x", [3])],
      outputs: [float("y", [3])],
      initializers: [
        { name: "w", dtype: "float32", shape: [3], external: { file: "external-data.bin", offset: 0, length: 12 } },
      ],
      nodes: [node("Add", ["x", "w"], ["y"])],
    },
    // y = x + bias, where bias is an input with a value of its own.
    "default-input": {
      inputs: [float("x", ["N"]), float("bias", [])],
      outputs: [float("y", ["N"])],
      initializers: [constant("bias", 100)],
      nodes: [node("Add", ["x", "bias"], ["y"])],
    },
  };
}

function shapes(): Models {
  const negative = (shape?: readonly string[]) => ({
    inputs: [float("x", shape)],
    outputs: [float("y", shape)],
    nodes: [node("Neg", ["x"], ["y"])],
  });
  return {
    scalar: negative([]),
    "any-rank": negative(undefined),
    // The mean of each channel of images of any size.
    "symbolic-dims": {
      inputs: [float("image", ["batch", 3, "height", ""])],
      outputs: [float("mean", ["batch", 3])],
      nodes: [node("ReduceMean", ["image"], ["mean"], { axes: [2, 3], keepdims: 0 })],
    },
  };
}

/** Names that break naive code; every output is its input's negative. */
function names(): Models {
  const inputs = ["__proto__", "constructor", '{"json": [1]}', "input:0", "with space", "größe"];
  const outputs = ["toString", '{"json": [2]}', "output:0", "hasOwnProperty", "valueOf", "Größe"];
  return {
    "odd-names": {
      inputs: inputs.map((name) => float(name, ["N"])),
      outputs: outputs.map((name) => float(name, ["N"])),
      nodes: outputs.map((name, index) => node("Neg", [inputs[index] as string], [name])),
    },
    "proto-output": {
      inputs: [float("x", ["N"])],
      outputs: [float("__proto__", ["N"])],
      nodes: [node("Neg", ["x"], ["__proto__"])],
    },
  };
}

/** Inputs and outputs that are not tensors. */
function notTensors(): Models {
  const scores = { sequence: { map: { key: "string", value: { elemType: "float32" } } } } as const;
  return {
    "sequence-input": {
      inputs: [{ name: "rows", type: { sequence: { elemType: "float32", shape: ["N"] } } }],
      outputs: [float("first", ["N"])],
      initializers: [{ name: "zero", dtype: "int64", shape: [], data: BigInt64Array.of(0n) }],
      nodes: [node("SequenceAt", ["rows", "zero"], ["first"])],
    },
    "sequence-output": {
      inputs: [float("x", ["N", 2])],
      outputs: [{ name: "rows", type: { sequence: { elemType: "float32" } } }],
      nodes: [node("SplitToSequence", ["x"], ["rows"])],
    },
    "map-input": {
      inputs: [{ name: "counts", type: { map: { key: "string", value: { elemType: "int64" } } } }],
      outputs: [tensor("vector", "int64", [1, 2])],
      nodes: [machineLearning("DictVectorizer", "counts", "vector", { string_vocabulary: ["cat", "dog"] })],
    },
    // A classifier's scores as scikit-learn's exporter gives them: one map per row.
    "map-output": {
      inputs: [float("x", ["N", 2])],
      outputs: [{ name: "scores", type: scores }],
      nodes: [machineLearning("ZipMap", "x", "scores", { classlabels_strings: ["cat", "dog"] })],
    },
    "optional-input": {
      inputs: [{ name: "maybe", type: { optional: { elemType: "float32", shape: ["N"] } } }],
      outputs: [tensor("present", "bool", [])],
      nodes: [node("OptionalHasElement", ["maybe"], ["present"])],
    },
  };
}

function troubles(): Models {
  return {
    // Picks from three values; an index beyond them fails while the model runs.
    "fails-at-run": {
      inputs: [tensor("index", "int64", ["N"])],
      outputs: [float("value", ["N"])],
      initializers: [{ name: "values", dtype: "float32", shape: [3], data: Float32Array.of(10, 20, 30) }],
      nodes: [{ ...node("Gather", ["values", "index"], ["value"]), name: "pick" }],
    },
    slow: slow(),
    // Zeros of the shape that is asked for, which may be more than any machine holds.
    zeros: {
      inputs: [tensor("shape", "int64", ["N"])],
      outputs: [float("zeros")],
      nodes: [{ ...node("ConstantOfShape", ["shape"], ["zeros"]), name: "fill" }],
    },
    // Gives texts of its own, one of them with a zero byte.
    "string-constant": {
      inputs: [tensor("x", "string", [2])],
      outputs: [tensor("y", "string", [2]), tensor("constant", "string", [2])],
      initializers: [{ name: "texts", dtype: "string", shape: [2], data: ["a\0b", "größe"] }],
      nodes: [node("Identity", ["x"], ["y"]), node("Identity", ["texts"], ["constant"])],
    },
    "unknown-op": {
      inputs: [float("x", ["N"])],
      outputs: [float("y", ["N"])],
      nodes: [node("Levitate", ["x"], ["y"])],
    },
  };
}

/** Multiplies matrices as often as `iterations` says; 2000 take 0.2 to 0.8 seconds. */
function slow(): Models[string] {
  const size = [192, 192];
  const start = { name: "", dtype: "float32", shape: [1], data: Float32Array.of(0.01) } as const;
  const body: OnnxGraph = {
    name: "body",
    inputs: [tensor("step", "int64", []), tensor("going", "bool", []), float("state", size)],
    outputs: [tensor("still", "bool", []), float("next", size)],
    nodes: [
      node("Identity", ["going"], ["still"]),
      node("MatMul", ["state", "state"], ["product"]),
      node("Tanh", ["product"], ["next"]),
    ],
  };
  return {
    inputs: [tensor("iterations", "int64", [])],
    outputs: [float("y", size)],
    initializers: [
      { name: "size", dtype: "int64", shape: [2], data: BigInt64Array.from(size, BigInt) },
      { name: "true", dtype: "bool", shape: [], data: Uint8Array.of(1) },
    ],
    nodes: [
      node("ConstantOfShape", ["size"], ["start"], { value: { tensor: start } }),
      node("Loop", ["iterations", "true", "start"], ["y"], { body: { graph: body } }),
    ],
  };
}

function externalDataFile(): Record<string, Uint8Array> {
  return { "external-data.bin": new Uint8Array(Float32Array.of(10, 20, 30).buffer) };
}

/** Files that ONNX Runtime refuses, and what people hand over by mistake. */
function notModels(): Record<string, Uint8Array> {
  const { "half-plus-two": good } = arithmetic();
  const graph = { name: "half-plus-two", ...good } as OnnxGraph;
  const lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22e\nsize 12345\n";
  return {
    "future-opset.onnx": encodeModel({ opset: 999, graph }),
    "truncated.onnx": encodeModel({ opset: 17, graph }).subarray(0, 100),
    "not-a-model.onnx": Buffer.from("This is not a model.\n"),
    "lfs-pointer.onnx": Buffer.from(lfs),
    "empty.onnx": new Uint8Array(),
  };
}

/** Operator sets of ONNX 1.12, which every ONNX Runtime since 2022 takes. */
function encode(name: string, graph: Models[string]): Uint8Array {
  return encodeModel({ opset: 17, domains: { "ai.onnx.ml": 3 }, graph: { name, ...graph } });
}

function tensor(name: string, elemType: ElementType, shape?: readonly (number | string)[]): ValueInfo {
  return { name, type: { elemType, ...(shape && { shape }) } };
}

function float(name: string, shape?: readonly (number | string)[]): ValueInfo {
  return tensor(name, "float32", shape);
}

function constant(name: string, value: number) {
  return { name, dtype: "float32", shape: [], data: Float32Array.of(value) } as const;
}

function node(
  op: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: Readonly<Record<string, Attribute>> = {},
) {
  return { op, inputs, outputs, attributes };
}

function machineLearning(op: string, input: string, output: string, attributes: Readonly<Record<string, Attribute>>) {
  return { ...node(op, [input], [output], attributes), domain: "ai.onnx.ml" };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(TEST_MODELS_FOLDER, { recursive: true });
  for (const [name, bytes] of Object.entries(testModelFiles())) writeFileSync(`${TEST_MODELS_FOLDER}${name}`, bytes);
}
