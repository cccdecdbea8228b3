import type { JsonValue } from "@bufbuild/protobuf";
import { type DType, type NumericDType, numericLayout } from "../../src/tensor/dtype.ts";
import { elementCount, type Tensor } from "../../src/tensor/tensor.ts";
import { type NodeJson, tensorOf, type } from "../../test/drivers/tensorflow/portable/graph-writer.ts";
import { attr, int, ints, type OpCase, type OpTrials } from "../../test/drivers/tensorflow/portable/op-cases.ts";
import { TRIALS } from "../../test/drivers/tensorflow/portable/random-graphs.ts";
import { Random } from "../../test/grpc/random.ts";

/** A graph of one operation, or few, all of whose inputs come with the request. */
export interface HostileGraph {
  readonly op: string;
  readonly nodes: readonly NodeJson[];
  readonly outputs: readonly string[];
  readonly good: readonly Tensor[];
  /** Inputs that are the good ones but for one. */
  readonly bad: readonly HostileInputs[];
}

/** The inputs of a request, and what is odd about them. */
interface HostileInputs {
  readonly what: string;
  readonly inputs: readonly Tensor[];
}

/** Numbers that sizes, places and counts must not be trusted to be. */
const SIZES = [-1, -3, 0, 1, 2, 7, 1000, 0x7fffffff, -0x80000000];
const FLOATS = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e30, -1e30, 0];
/** Larger inputs are not sizes. */
const MAX_SIZES = 8;

/** Graphs of every operation that has trials, each in up to `dtypes` types, and of lists, which need several. */
export function makeHostileGraphs(wanted: readonly string[], dtypes: number): HostileGraph[] {
  const random = new Random(7);
  const single = Object.entries(TRIALS as OpTrials).flatMap(([op, { dtypes: all, make }]) =>
    all.slice(0, dtypes).map((dtype) => toGraph({ op, ...make(random, dtype) })),
  );
  const graphs = [...single, ...LISTS.map((list) => ({ ...list, bad: changed(list.good) }))];
  return wanted.length === 0 ? graphs : graphs.filter(({ op }) => wanted.includes(op));
}

function toGraph(made: OpCase): HostileGraph {
  const input = made.inputs.map((_, index) => `in${index}`);
  return {
    op: made.op,
    nodes: [
      ...made.inputs.map((tensor, index) => open(`in${index}`, tensor.dtype)),
      { name: "op", op: made.op, input, attr: made.attr },
    ],
    outputs: Array.from({ length: made.outputs ?? 1 }, (_, output) => `op:${output}`),
    good: made.inputs,
    bad: changed(made.inputs),
  };
}

/** A placeholder that takes any shape. */
function open(name: string, dtype: DType): NodeJson {
  return { name, op: "Placeholder", attr: { dtype: type(dtype), shape: { shape: { unknownRank: true } } } };
}

function changed(good: readonly Tensor[]): HostileInputs[] {
  // Of its own, so that other changes leave the graphs as they are.
  const random = new Random(5);
  return good.flatMap((tensor, index) =>
    [...otherShapes(tensor), ...otherNumbers(tensor, random)].map(([what, other]) => ({
      what: `input ${index} ${what}`,
      inputs: good.map((each, place) => (place === index ? other : each)),
    })),
  );
}

type Change = readonly [what: string, tensor: Tensor];

function otherShapes(tensor: Tensor): Change[] {
  const { shape } = tensor;
  const shapes = [
    [],
    [0],
    [1],
    [...shape, 1],
    [1, ...shape],
    [...shape, 0],
    [2 ** 31 - 1, 0],
    shape.slice(1),
    shape.slice(0, -1),
    ...shape.flatMap((size, axis) =>
      [0, 1, size + 1, 2 * size].map((other) => shape.map((each, at) => (at === axis ? other : each))),
    ),
  ];
  const others = new Map(shapes.map((each) => [each.join(), each] as const));
  others.delete(shape.join());
  return [...others.values()].map((each) => [`of shape [${each}]`, repeated(tensor, each)]);
}

function repeated(tensor: Tensor, shape: readonly number[]): Tensor {
  const count = elementCount(shape);
  const values = Array.from(tensor.data as ArrayLike<unknown>);
  const data = Array.from({ length: count }, (_, index) => values[index % values.length] ?? zeroOf(tensor.dtype));
  if (tensor.dtype === "bytes") return { dtype: "bytes", shape, data: data as Uint8Array[] };
  return tensorOf(tensor.dtype, shape, data as number[]);
}

function zeroOf(dtype: DType): unknown {
  if (dtype === "bytes") return new Uint8Array(0);
  return /64$/.test(dtype) && dtype !== "float64" ? 0n : 0;
}

function otherNumbers(tensor: Tensor, random: Random): Change[] {
  const { dtype, shape } = tensor;
  const count = elementCount(shape);
  if (count === 0) return [];
  if (dtype === "bytes") return [texts(shape, count)];
  if (dtype === "bool") return [];
  const isFloat = dtype.startsWith("float");
  const fitting = (isFloat ? FLOATS : SIZES).filter((value) => isFloat || fits(dtype, value));
  const all = fitting.map((value): Change => [`all ${value}`, tensorOf(dtype, shape, Array(count).fill(value))]);
  if (isFloat || count > MAX_SIZES || count === 1) return all;
  const one = fitting.map((value): Change => {
    const numbers = Array.from(tensor.data as ArrayLike<number>, Number);
    const place = random.below(count);
    numbers[place] = value;
    return [`[${place}] ${value}`, tensorOf(dtype, shape, numbers)];
  });
  return [...all, ...one];
}

function texts(shape: readonly number[], count: number): Change {
  const odd = ["", "\xff\xfe", "\x00", "9".repeat(400)];
  return [
    "of odd texts",
    tensorOf(
      "bytes",
      shape,
      Array.from({ length: count }, (_, index) => odd[index % 4] ?? ""),
    ),
  ];
}

function fits(dtype: NumericDType, value: number): boolean {
  const array = new (numericLayout(dtype).array)(1);
  if (array instanceof BigInt64Array) return true;
  if (array instanceof BigUint64Array) return value >= 0;
  array[0] = value;
  return array[0] === value;
}

/** Lists are values that no request can give. */
const LISTS: readonly Omit<HostileGraph, "bad">[] = [
  listGraph(
    "TensorListReserve",
    [ints(2), int(3)],
    [
      node("list", "TensorListReserve", ["in0", "in1"], { element_dtype: type("float32"), shape_type: type("int32") }),
      node("op", "TensorListStack", ["list", "in0"], {
        element_dtype: type("float32"),
        num_elements: attr.integer(-1),
      }),
    ],
  ),
  listGraph(
    "TensorListSetItem",
    [tensorOf("float32", [3, 2], [1, 2, 3, 4, 5, 6]), ints(2), int(1), tensorOf("float32", [2], [7, 8])],
    [
      node("list", "TensorListFromTensor", ["in0", "in1"], {
        element_dtype: type("float32"),
        shape_type: type("int32"),
      }),
      node("set", "TensorListSetItem", ["list", "in2", "in3"], { element_dtype: type("float32") }),
      node("op", "TensorListStack", ["set", "in1"], { element_dtype: type("float32"), num_elements: attr.integer(-1) }),
    ],
  ),
  listGraph(
    "TensorListGetItem",
    [tensorOf("float32", [3, 2], [1, 2, 3, 4, 5, 6]), int(1), ints(2)],
    [
      node("list", "TensorListFromTensor", ["in0", "in2"], {
        element_dtype: type("float32"),
        shape_type: type("int32"),
      }),
      node("op", "TensorListGetItem", ["list", "in1", "in2"], { element_dtype: type("float32") }),
    ],
  ),
  listGraph(
    "TensorListConcatV2",
    [tensorOf("float32", [3, 2], [1, 2, 3, 4, 5, 6]), ints(2), tensorOf("int64", [0], [])],
    [
      node("list", "TensorListFromTensor", ["in0", "in1"], {
        element_dtype: type("float32"),
        shape_type: type("int32"),
      }),
      node("op", "TensorListConcatV2", ["list", "in1", "in2"], {
        element_dtype: type("float32"),
        shape_type: type("int32"),
      }),
    ],
  ),
];

function listGraph(op: string, good: readonly Tensor[], nodes: readonly NodeJson[]): Omit<HostileGraph, "bad"> {
  return {
    op,
    good,
    outputs: ["op:0"],
    nodes: [...good.map(({ dtype }, index) => open(`in${index}`, dtype)), ...nodes],
  };
}

function node(name: string, op: string, input: readonly string[], attr: Readonly<Record<string, JsonValue>>): NodeJson {
  return { name, op, input, attr };
}
