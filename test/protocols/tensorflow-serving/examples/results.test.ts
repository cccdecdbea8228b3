import { describe, expect, it } from "vitest";
import {
  type Classifications,
  type ExampleMethod,
  toResult,
} from "../../../../src/protocols/tensorflow-serving/examples/results.ts";
import type { DType } from "../../../../src/tensor/dtype.ts";
import { createTensor, type Tensor } from "../../../../src/tensor/tensor.ts";

const ARRAYS = { float32: Float32Array, float64: Float64Array, int32: Int32Array } as const;

function tensor(dtype: keyof typeof ARRAYS | "bytes", ...shape: number[]): Tensor {
  const count = shape.reduce((product, size) => product * size, 1);
  const data = dtype === "bytes" ? Array.from({ length: count }, () => Buffer.from("a")) : new ARRAYS[dtype](count);
  return createTensor(dtype as DType, shape, data as never);
}

function errorOf(method: ExampleMethod, outputs: Readonly<Record<string, Tensor>>): string {
  try {
    toResult(method, outputs, {}, 2);
  } catch (reason) {
    expect(reason).toMatchObject({ name: "ServingError", code: "invalid_argument" });
    return (reason as Error).message;
  }
  return "no error";
}

const scores = tensor("float32", 2, 3);
const classes = tensor("bytes", 2, 3);

describe("outputs that are no result of Classify are refused in TensorFlow Serving's words:", () => {
  it.each([
    ["neither", {}, 'Expected classification signature outputs to contain at least one of "classes" or "scores"'],
    [
      "one score for each",
      { scores: tensor("float32", 2) },
      "Expected Tensor shape: [batch_size num_classes] but got [2]",
    ],
    [
      "classes of rank 3",
      { classes: tensor("bytes", 2, 3, 1) },
      "Expected Tensor shape: [batch_size num_classes] but got",
    ],
    ["classes of numbers", { classes: scores }, "Expected classes Tensor of DT_STRING. Got: DT_FLOAT"],
    ["scores of text", { scores: classes }, "Expected scores Tensor of DT_FLOAT. Got: DT_STRING"],
    ["scores of doubles", { scores: tensor("float64", 2, 3) }, "Expected scores Tensor of DT_FLOAT. Got: DT_DOUBLE"],
    ["too many classes", { classes: tensor("bytes", 3, 3) }, "Expected classes output batch size of 2. Got: 3"],
    ["too few scores", { scores: tensor("float32", 1, 3) }, "Expected scores output batch size of 2. Got: 1"],
    [
      "other columns",
      { classes, scores: tensor("float32", 2, 4) },
      "Tensors class and score should match in dim_size(1). Got 3 vs. 4",
    ],
  ])("%s", (_, outputs, message) => {
    expect(errorOf("classify", outputs)).toContain(message);
  });
});

describe("outputs that are no result of Regress are refused in TensorFlow Serving's words:", () => {
  it.each([
    [
      "two columns",
      tensor("float32", 2, 2),
      "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got [2,2]",
    ],
    [
      "a scalar",
      tensor("float32"),
      "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got []",
    ],
    ["too many", tensor("float32", 3), "Input batch size did not match output batch size: 2 vs. 3"],
    ["integers", tensor("int32", 2, 1), "Expected output Tensor of DT_FLOAT.  Got: DT_INT32"],
  ])("%s", (_, outputs, message) => {
    expect(errorOf("regress", { outputs })).toBe(message);
  });
});

it("scores alone have the labels of that output, and classes are labels themselves", () => {
  const signature = { outputs: [{ name: "scores", dtype: "float32", labels: ["x", "y", "z"] }] } as const;
  const labelsOf = (outputs: Readonly<Record<string, Tensor>>) => {
    const { labels = [] } = toResult("classify", outputs, signature, 2) as Classifications;
    return labels.map((label) => Buffer.from(label).toString());
  };
  expect(labelsOf({ scores })).toEqual(["x", "y", "z", "x", "y", "z"]);
  expect(labelsOf({ scores, classes })).toEqual(Array(6).fill("a"));
});
