import { afterAll, describe, expect, it } from "vitest";
import { TryingProcess } from "../../../../scripts/operators/sweep.ts";
import { createTensors, type Tensor } from "../../../../src/tensor/tensor.ts";
import { tempFolder } from "../../../helpers/temp-folder.ts";
import { missingRuntime } from "../../missing-runtime.ts";
import { constant, type NodeJson, placeholder, tensorOf, type, writeGraph } from "../portable/graph-writer.ts";
import { floats } from "./open-native.ts";
import { tensorflowRuntime } from "./tensorflow-runtime.ts";

const missing = await missingRuntime("Operations that end TensorFlow's process", tensorflowRuntime);

/** The process of all models: one that ended it would be told as such, and the next ones have another. */
const trying = new TryingProcess();
afterAll(() => trying.end());

/** Answers of a graph's operation `y` to some inputs, from that process. */
async function outcomes(nodes: readonly NodeJson[], ...givens: Readonly<Record<string, Tensor>>[]): Promise<string[]> {
  const path = `${tempFolder({ "frozen.pb": writeGraph(nodes) })}/frozen.pb`;
  const trials = givens.map((given) => ({ what: "", inputs: createTensors(Object.entries(given)) }));
  const options = { engine: "native", outputs: "y" };
  const subject = { operator: "", driver: "tensorflow", options, path, trials };
  return (await trying.tryAll(subject)).map(({ outcome }) => outcome);
}

const ints = (...values: number[]) => tensorOf("int32", [values.length], values);
const any = (name: string, like: Tensor): NodeJson => {
  const { attr, ...rest } = placeholder(name, like);
  return { ...rest, attr: { ...attr, shape: { shape: { unknownRank: true } } } };
};
const ones = (...shape: number[]) => floats(shape, ...Array(shape.reduce((one, other) => one * other)).fill(1));
const T = { T: type("float32") };
const I = { T: type("int32") };
const bytes = (value: string) => ({ s: Buffer.from(value).toString("base64") });
const list = (...values: number[]) => ({ list: { i: values.map(String) } });

const PACK = { ...I, N: { i: "4" }, axis: { i: "0" } };

/** A transposed convolution whose result's sizes are `size`, behind the nodes that make them of the input `n`. */
function transposed(op: string, rank: 4 | 5, making: readonly NodeJson[] = []): NodeJson[] {
  const [x, filter] = rank === 4 ? [ones(1, 4, 4, 1), ones(2, 2, 1, 1)] : [ones(1, 2, 2, 2, 1), ones(2, 2, 2, 1, 1)];
  const attr = { ...T, strides: list(...Array<number>(rank).fill(1)), padding: bytes("VALID") };
  const size = making.at(-1)?.name ?? "n";
  return [
    ...[any("n", ints(1)), any("x", x), constant("filter", filter), ...making],
    { name: "y", op, input: [size, "filter", "x"], attr },
  ];
}

/** Sizes 1, n, n, 1 of an integer n less 2. */
const COMPUTED: readonly NodeJson[] = [
  constant("one", tensorOf("int32", [], [1])),
  constant("two", tensorOf("int32", [], [2])),
  { name: "less", op: "Sub", input: ["n", "two"], attr: I },
  { name: "size", op: "Pack", input: ["one", "less", "less", "one"], attr: PACK },
];

describe.skipIf(missing !== undefined)("an operation of TensorFlow does not end the process", () => {
  it.each([
    ["Conv2DBackpropInput", 4, ones(1, 4, 4, 1), [1, 5, 5, 1], [1, -5, 5, 1]],
    ["DepthwiseConv2dNativeBackpropInput", 4, ones(1, 4, 4, 1), [1, 5, 5, 1], [1, 5, 5, -1]],
    ["Conv3DBackpropInputV2", 5, ones(1, 2, 2, 2, 1), [1, 3, 3, 3, 1], [1, 3, -3, 3, 1]],
  ] as const)("%s to sizes below 0", async (op, rank, x, good, bad) => {
    const given = [
      { n: ints(...good), x },
      { n: ints(...bad), x },
      { n: tensorOf("int32", [], [5]), x },
      { n: ints(...good), x },
    ];
    const [right, below, scalar, again] = await outcomes(transposed(op, rank), ...given);
    expect(right).toMatch(new RegExp(`^answered: y float32\\[${good}\\] 1,2`));
    expect(below).toMatch(
      new RegExp(`^invalid_argument: The model failed in node "y": ${op} takes sizes of 0 or more .* ${bad.join("x")}`),
    );
    expect(scalar).toMatch(/^invalid_argument: .* takes 1 dimension\(s\) in its input 0, which has 0/);
    expect(again).toBe(right);
  });

  it("gradients of pools, crops and convolutions of other ranks", async () => {
    const attr = { ...T, ksize: list(1, 2, 2, 1), strides: list(1, 1, 1, 1), padding: bytes("VALID") };
    const pool = [any("n", ints(1)), any("x", ones(1)), { name: "y", op: "AvgPoolGrad", input: ["n", "x"], attr }];
    const x = ones(1, 3, 3, 1);
    const [good, few, none, odd, huge] = await outcomes(
      pool,
      { n: ints(1, 4, 4, 1), x },
      { n: ints(5, 1), x: ones(1, 4) },
      ...[ints(), ints(2), ints(...Array(4).fill(2 ** 31 - 1))].map((n) => ({ n, x })),
    );
    expect([none, odd]).toEqual([0, 1].map((count) => expect.stringContaining(`and there are ${count}`)));
    expect(huge).toMatch(/^invalid_argument: .* takes sizes that fit into memory/);
    expect(good).toMatch(/^answered: y float32\[1,4,4,1\]/);
    expect(few).toMatch(/^invalid_argument: .* AvgPoolGrad takes 4 dimension\(s\) in its input 1, which has 2/);
    const sized = (...sizes: number[]) => ({ n: ints(...sizes), x: ones(1, 4, 4, 1) });
    const [right, empty] = await outcomes(
      transposed("DepthwiseConv2dNativeBackpropInput", 4),
      sized(1, 5, 5, 1),
      sized(),
    );
    expect(right).toMatch(/^answered/);
    expect(empty).toMatch(/^invalid_argument: .* takes a size for each of 4 dimensions, and there are 0/);
  });

  it("nor does one answer memory that it has not written: Fourier transforms of nothing", async () => {
    const graph = [
      any("x", ones(2, 2)),
      constant("size", ints(2, 2)),
      { name: "fft", op: "RFFT2D", input: ["x", "size"], attr: {} },
      { name: "y", op: "ComplexAbs", input: ["fft"], attr: T },
    ];
    const complex = [{ ...graph[3]!, attr: { T: type("complex64"), Tout: type("float32") } }];
    const [good, empty, again] = await outcomes(
      [...graph.slice(0, 3), ...complex],
      { x: ones(2, 2) },
      { x: ones(2, 0) },
      { x: ones(2, 2) },
    );
    expect(good).toMatch(/^answered: y float32\[2,2\] 4/);
    expect(empty).toMatch(/^invalid_argument: .* RFFT2D takes an input with elements in the dimensions .* \[2,0\]/);
    expect(again).toBe(good);
  });

  it("a transposed convolution to sizes that the graph computes", async () => {
    const x = ones(1, 4, 4, 1);
    const sized = (value: number) => ({ n: tensorOf("int32", [], [value]), x });
    const nodes = transposed("Conv2DBackpropInput", 4, COMPUTED);
    const [good, bad] = await outcomes(nodes, sized(7), sized(-3));
    expect(good).toMatch(/^answered: y float32\[1,5,5,1\]/);
    expect(bad).toMatch(/^invalid_argument: .* takes sizes of 0 or more for its result, and these are 1x-5x-5x1/);
  });

  it("TensorScatterUpdate of parts that do not fit their places", async () => {
    const attr = { ...I, Tindices: type("int32") };
    const nodes = [
      ...["t", "places", "n"].map((name) => any(name, ints(1))),
      { name: "y", op: "TensorScatterUpdate", input: ["t", "places", "n"], attr },
    ];
    const t = tensorOf("int32", [3], [1, 2, 3]);
    const places = tensorOf("int32", [2, 1], [0, 2]);
    const found = await outcomes(
      nodes,
      { t, places, n: ints(8, 9) },
      { t, places, n: tensorOf("int32", [3, 2, 1], [1, 2, 3, 4, 5, 6]) },
    );
    expect(found).toEqual([
      "answered: y int32[3] 8,2,9",
      expect.stringMatching(/^invalid_argument: .* takes parts of shape \[2\] for its places, and these are \[3,2,1\]/),
    ]);
  });

  it("FakeQuantWithMinMaxVarsPerChannel with one bound for all channels", async () => {
    const nodes = [
      ...["x", "low", "high"].map((name) => any(name, ones(1))),
      { name: "y", op: "FakeQuantWithMinMaxVarsPerChannel", input: ["x", "low", "high"] },
    ];
    const x = floats([2], 1, 2);
    const [scalar, each] = await outcomes(
      nodes,
      { x, low: floats([], 0), high: floats([], 3) },
      { x, low: floats([2], 0, 0), high: floats([2], 3, 3) },
    );
    expect(scalar).toMatch(/^invalid_argument: .* takes 1 dimension\(s\) in its input 1, which has 0/);
    expect(each).toMatch(/^answered: y float32\[2\]/);
  });
});
