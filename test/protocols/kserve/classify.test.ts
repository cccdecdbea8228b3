import { describe, expect, it } from "vitest";
import { classify } from "../../../src/protocols/kserve/classify.ts";
import { toBfloat16, toFloat16 } from "../../../src/tensor/float16.ts";
import { createTensor, type Tensor } from "../../../src/tensor/tensor.ts";
import { Random } from "../../grpc/random.ts";

const floats = (shape: number[], ...values: number[]) => createTensor("float32", shape, Float32Array.from(values));

/** The shape and the texts of a tensor's greatest values. */
function classes(tensor: Tensor, count: number, labels?: readonly string[]) {
  const { shape, data } = classify(tensor, { name: "y", count, labels }, 1_000_000);
  return [shape, data.map((element) => Buffer.from(element).toString())];
}

describe("the greatest values of an output", () => {
  it("come row by row, greatest first, with their places", () => {
    const rows = floats([2, 3], 0.25, 0.5, 0.125, 3, 1, 2);
    expect(classes(rows, 2)).toEqual([
      [2, 2],
      ["0.500000:1", "0.250000:0", "3.000000:0", "2.000000:2"],
    ]);
  });

  it("have their labels where the model has some", () => {
    expect(classes(floats([3], 1, 3, 2), 2, ["cat", "dog"])).toEqual([[2], ["3.000000:1:dog", "2.000000:2"]]);
  });

  it("are all of them where more are asked for", () => {
    expect(classes(floats([1, 2], 1, 2), 1000)).toEqual([
      [1, 2],
      ["2.000000:1", "1.000000:0"],
    ]);
  });

  it("keep the order of equals, and put what is no number last", () => {
    const values = floats([5], Number.NaN, 7, Number.POSITIVE_INFINITY, 7, Number.NEGATIVE_INFINITY);
    expect(classes(values, 5)).toEqual([[5], ["inf:2", "7.000000:1", "7.000000:3", "-inf:4", "nan:0"]]);
  });

  it.each<[string, Tensor, string[]]>([
    ["int64", createTensor("int64", [2], BigInt64Array.of(1n, 2n ** 60n)), ["1152921504606846976:1", "1:0"]],
    ["uint8", createTensor("uint8", [2], Uint8Array.of(5, 6)), ["6:1", "5:0"]],
    [
      "float16",
      createTensor("float16", [2], Uint16Array.of(toFloat16(-1), toFloat16(0.5))),
      ["0.500000:1", "-1.000000:0"],
    ],
    ["bfloat16", createTensor("bfloat16", [1], Uint16Array.of(toBfloat16(2))), ["2.000000:0"]],
    ["float64", createTensor("float64", [1], Float64Array.of(1e22)), ["10000000000000000000000.000000:0"]],
    ["float32 ties", floats([2], 0.0078125, -0), ["0.007812:0", "-0.000000:1"]],
  ])("of %s are written as C does", (_, tensor, texts) => {
    expect(classes(tensor, 9)[1]).toEqual(texts);
  });

  it("of no rows are none", () => {
    expect(classes(floats([0, 3]), 2)).toEqual([[0, 0], []]);
  });

  it.each<[string, Tensor]>([
    ["texts", createTensor("bytes", [1], [Buffer.from("a")])],
    ["one value without dimensions", floats([], 1)],
  ])("of %s are refused", (_, tensor) => {
    expect(() => classes(tensor, 1)).toThrow(
      expect.objectContaining({
        code: "invalid_argument",
        message: expect.stringContaining("class result not available"),
      }),
    );
  });
});

it("keeps what sorting all values would give, whatever their order, equal ones and NaN among them", () => {
  const random = new Random(5);
  for (let round = 0; round < 200; round++) {
    const values = Float32Array.from({ length: random.below(40) }, () =>
      random.below(9) === 0 ? Number.NaN : random.below(12),
    );
    const sorted = [...values.keys()].sort((a, b) => compare(values[a] as number, values[b] as number) || a - b);
    const count = random.below(45);
    const { data } = classify(createTensor("float32", [values.length], values), { name: "y", count }, 1_000_000);
    const indices = data.map((each) => Number(Buffer.from(each).toString().split(":")[1]));
    expect(indices).toEqual(sorted.slice(0, count));
  }
});

it("refuses more classes than there is memory for", () => {
  const tensor = createTensor("int8", [1000, 1], new Int8Array(1000));
  expect(() => classify(tensor, { name: "y", count: 1 }, 100_000)).toThrow(/1000 classes of output 'y' takes/);
});

function compare(a: number, b: number): number {
  return Number(Number.isNaN(a)) - Number(Number.isNaN(b)) || b - a || 0;
}
