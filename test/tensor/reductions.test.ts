import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { argmax, softmax, topK } from "../../src/tensor/along-axis.ts";
import { toFloat16 } from "../../src/tensor/float16.ts";
import { createTensor, type Tensor } from "../../src/tensor/tensor.ts";
import { missingPython, PYTHON } from "../helpers/missing-python.ts";

const missing = missingPython("Reductions against numpy", "numpy");
const floats = (shape: number[], ...values: number[]) => createTensor("float32", shape, Float32Array.from(values));

interface Case {
  readonly shape: number[];
  readonly axis: number;
  readonly k: number;
  readonly values: number[];
  readonly softmax: number[];
  readonly argmax: number[];
  readonly topShape: number[];
  readonly topIndices: number[];
  readonly topValues: number[];
}

test.skipIf(missing)("softmax, argmax and topK are numpy's, on 200 random tensors with ties, along any axis", () => {
  const script = new URL("reductions.py", import.meta.url).pathname;
  const seed = process.env.KSERVING_TEST_SEED ?? "1";
  const lines = execFileSync(PYTHON, [script, "200", seed], { encoding: "utf8" }).trim().split("\n");
  for (const each of lines.map((line): Case => JSON.parse(line))) {
    const tensor = createTensor("float64", each.shape, Float64Array.from(each.values));
    const probabilities = softmax(tensor, each.axis);
    expect(probabilities.shape).toEqual(each.shape);
    for (const [index, expected] of each.softmax.entries()) expect(probabilities.data[index]).toBeCloseTo(expected, 12);
    expect([...argmax(tensor, each.axis).data]).toEqual(each.argmax);
    const { values, indices } = topK(tensor, each.k, each.axis);
    expect([values.shape, indices.shape]).toEqual([each.topShape, each.topShape]);
    expect([...indices.data]).toEqual(each.topIndices);
    expect([...(values.data as Float64Array)]).toEqual(each.topValues);
  }
});

describe("softmax", () => {
  test("sums to 1, whatever the scores, and keeps the shape", () => {
    const { dtype, shape, data } = softmax(floats([2, 2], 1000, 1000, -1e30, 0));
    expect({ dtype, shape, data: [...data] }).toEqual({ dtype: "float32", shape: [2, 2], data: [0.5, 0.5, 0, 1] });
  });

  test("takes halves, integers and 64-bit integers", () => {
    const halves = createTensor("float16", [2], Uint16Array.of(toFloat16(1), toFloat16(1)));
    expect([...softmax(halves).data]).toEqual([0.5, 0.5]);
    expect([...softmax(createTensor("int64", [2], BigInt64Array.of(-5n, -5n))).data]).toEqual([0.5, 0.5]);
  });

  test("is NaN where a line has NaN or is infinite, and nowhere else", () => {
    const lines = floats([3, 2], Number.NaN, 1, Number.POSITIVE_INFINITY, 1, 0, 0);
    expect([...softmax(lines).data]).toEqual(
      [NaN, NaN, NaN, NaN, 0.5, 0.5].map((each, index) => (index === 3 ? NaN : each)),
    );
  });

  test("of an empty axis is empty", () => {
    expect(softmax(floats([3, 0])).shape).toEqual([3, 0]);
  });
});

describe("argmax", () => {
  test("takes the first of equal ones, the first NaN, and tells 64-bit integers apart", () => {
    expect([...argmax(floats([2, 3], 1, 2, 2, 5, Number.NaN, Number.NaN)).data]).toEqual([1, 1]);
    const large = createTensor("int64", [3], BigInt64Array.of(2n ** 53n, 2n ** 53n + 1n, 2n ** 53n));
    expect(argmax(large)).toEqual(createTensor("int32", [], Int32Array.of(1)));
  });

  test("of an empty axis is refused, unless there is nothing to choose for", () => {
    expect(() => argmax(floats([2, 0]))).toThrow("argmax got shape [2,0], whose axis -1 is empty");
    expect(argmax(floats([0, 3])).shape).toEqual([0]);
  });
});

describe("topK", () => {
  test("gives all where there are fewer, and NaN first", () => {
    const { values, indices } = topK(floats([3], 1, Number.NaN, 2), 5);
    expect([[...indices.data], [...(values.data as Float32Array)]]).toEqual([
      [1, 2, 0],
      [Number.NaN, 2, 1],
    ]);
  });

  test.each([1, 5, 32, 33, 100])("gives the first %d of an order that numbers, ties and NaN have", (k) => {
    const line = Array.from({ length: 100 }, (_, index) => (index % 7 === 3 ? Number.NaN : (index * 37) % 23));
    const rank = (index: number) => (Number.isNaN(line[index]) ? 100 : line[index]!);
    const order = line.map((_, index) => index).toSorted((a, b) => rank(b) - rank(a) || a - b);
    expect([...topK(floats([100], ...line), k).indices.data]).toEqual(order.slice(0, k));
  });

  test("keeps the dtype of halves and 64-bit integers", () => {
    const halves = createTensor("float16", [2], Uint16Array.of(toFloat16(-1), toFloat16(3)));
    expect(topK(halves, 1)).toMatchObject({ values: { dtype: "float16", data: Uint16Array.of(toFloat16(3)) } });
    const integers = createTensor("uint64", [2], BigUint64Array.of(1n, 2n ** 63n));
    expect(topK(integers, 1)).toMatchObject({ values: { dtype: "uint64", data: BigUint64Array.of(2n ** 63n) } });
  });

  test.each([0, -1, 1.5, Number.NaN])("refuses k = %d", (k) => {
    expect(() => topK(floats([3], 1, 2, 3), k)).toThrow(`topK got k = ${k}; expected a positive integer.`);
  });
});

describe.each<[string, (tensor: Tensor, axis?: number) => unknown]>([
  ["softmax", softmax],
  ["argmax", argmax],
  ["topK", (tensor, axis) => topK(tensor, 1, axis)],
])("%s refuses", (name, reduce) => {
  test.each([
    [[2, 3], 2, "expected an integer from -2 to 1"],
    [[2, 3], -3, "expected an integer from -2 to 1"],
    [[2, 3], 0.5, "expected an integer from -2 to 1"],
    [[], 0, "expected a tensor with at least one axis"],
  ])("shape [%s] along axis %d", (shape, axis, message) => {
    const tensor = createTensor("float32", shape, new Float32Array(shape.reduce((a, b) => a * b, 1)));
    expect(() => reduce(tensor, axis)).toThrow(`${name} got axis ${axis} of a tensor of shape [${shape}]; ${message}`);
  });

  test("bytes and complex numbers", () => {
    expect(() => reduce(createTensor("bytes", [1], [Buffer.from("x")]))).toThrow(`${name} got a bytes tensor`);
    expect(() => reduce(createTensor("complex64", [1], new Float32Array(2)))).toThrow(`${name} got a complex64 tensor`);
  });
});
