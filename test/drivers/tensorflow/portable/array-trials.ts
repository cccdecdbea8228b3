import type { DType } from "../../../../src/tensor/dtype.ts";
import type { Random } from "../../../grpc/random.ts";
import { tensorOf, type } from "./graph-writer.ts";
import {
  ANY,
  attr,
  broadcastable,
  fullShape,
  int,
  ints,
  NUMBERS,
  type OpTrials,
  plain,
  shape,
  typed,
  values,
} from "./op-cases.ts";

function axes(random: Random, rank: number): number[] {
  const all = Array.from({ length: rank }, (_, axis) => axis);
  return all.filter(() => random.below(2) === 0).map((axis) => (random.below(2) === 0 ? axis : axis - rank));
}

function reduction(random: Random, dtype: DType) {
  const x = values(random, dtype, shape(random));
  return {
    attr: typed(dtype, { keep_dims: attr.flag(random.below(2) === 0), Tidx: type("int32") }),
    inputs: [x, ints(...axes(random, x.shape.length))],
  };
}

function argument(random: Random, dtype: DType) {
  const x = values(random, dtype, fullShape(random, 1 + random.below(3)));
  return { attr: typed(dtype, { Tidx: type("int32") }), inputs: [x, int(random.below(x.shape.length))] };
}

function cumulation(random: Random, dtype: DType) {
  const x = plain(random, dtype, fullShape(random, 1 + random.below(3)));
  const [exclusive, reverse] = [attr.flag(random.below(2) === 0), attr.flag(random.below(2) === 0)];
  return {
    attr: typed(dtype, { exclusive, reverse, Tidx: type("int32") }),
    inputs: [x, int(random.below(x.shape.length))],
  };
}

function permutation(random: Random, count: number): number[] {
  const order = Array.from({ length: count }, (_, index) => index);
  for (let index = count - 1; index > 0; index--) {
    const other = random.below(index + 1);
    [order[index], order[other]] = [order[other] as number, order[index] as number];
  }
  return order;
}

function joined(random: Random, dtype: DType) {
  const dims = shape(random, 3, 1);
  const axis = random.below(dims.length);
  const parts = Array.from({ length: 2 + random.below(2) }, () =>
    dims.map((size, index) => (index === axis ? random.below(3) : size)),
  );
  return { axis, parts: parts.map((part) => values(random, dtype, part)) };
}

const REDUCED: readonly DType[] = ["float32", "float64", "int32", "int64", "uint8"];

/** Operations that reduce, reshape, cut, join and pick. */
export const ARRAY_TRIALS: OpTrials = {
  Sum: { dtypes: REDUCED, make: reduction },
  Prod: { dtypes: REDUCED, make: reduction },
  Max: { dtypes: REDUCED, make: reduction },
  Min: { dtypes: REDUCED, make: reduction },
  Mean: { dtypes: ["float32", "float64"], make: reduction },
  EuclideanNorm: { dtypes: ["float32", "float64"], make: reduction },
  All: { dtypes: ["bool"], make: (random, dtype) => ({ ...reduction(random, dtype), attr: {} }) },
  Any: { dtypes: ["bool"], make: (random, dtype) => ({ ...reduction(random, dtype), attr: {} }) },
  ArgMax: { dtypes: REDUCED, make: argument },
  ArgMin: { dtypes: REDUCED, make: argument },
  Cumsum: { dtypes: REDUCED, make: cumulation },
  Cumprod: { dtypes: REDUCED, make: cumulation },
  Reshape: {
    dtypes: ANY,
    make: (random, dtype) => {
      const dims = fullShape(random, 3);
      const target = random.pick([[-1], [...dims].reverse(), [dims[0] as number, -1], [1, -1, 1]]);
      return { attr: typed(dtype), inputs: [values(random, dtype, dims), ints(...target)] };
    },
  },
  Squeeze: {
    dtypes: ANY,
    make: (random, dtype) => ({
      attr: typed(dtype, { squeeze_dims: attr.integers(...random.pick([[], [1], [-1], [1, 3]])) }),
      inputs: [values(random, dtype, [2, 1, 3, 1])],
    }),
  },
  ExpandDims: {
    dtypes: ANY,
    make: (random, dtype) => {
      const x = values(random, dtype, shape(random));
      return { attr: typed(dtype), inputs: [x, int(random.below(2 * x.shape.length + 2) - x.shape.length - 1)] };
    },
  },
  Transpose: {
    dtypes: ANY,
    make: (random, dtype) => {
      const x = values(random, dtype, shape(random, 4));
      return { attr: typed(dtype), inputs: [x, ints(...permutation(random, x.shape.length))] };
    },
  },
  Tile: {
    dtypes: ANY,
    make: (random, dtype) => {
      const x = values(random, dtype, shape(random));
      return { attr: typed(dtype), inputs: [x, ints(...x.shape.map(() => random.below(3)))] };
    },
  },
  BroadcastTo: {
    dtypes: ANY,
    make: (random, dtype) => {
      const target = shape(random);
      return { attr: typed(dtype), inputs: [values(random, dtype, broadcastable(random, target)), ints(...target)] };
    },
  },
  ReverseV2: {
    dtypes: ANY,
    make: (random, dtype) => {
      const x = values(random, dtype, shape(random));
      return { attr: typed(dtype), inputs: [x, ints(...axes(random, x.shape.length))] };
    },
  },
  Fill: {
    dtypes: ANY,
    make: (random, dtype) => ({ attr: typed(dtype), inputs: [ints(...shape(random)), values(random, dtype, [])] }),
  },
  Shape: {
    dtypes: ANY,
    make: (random, dtype) => ({
      attr: typed(dtype, { out_type: type(random.pick(["int32", "int64"])) }),
      inputs: [values(random, dtype, shape(random))],
    }),
  },
  Size: {
    dtypes: ANY,
    make: (random, dtype) => ({ attr: typed(dtype), inputs: [values(random, dtype, shape(random))] }),
  },
  Rank: {
    dtypes: ANY,
    make: (random, dtype) => ({ attr: typed(dtype), inputs: [values(random, dtype, shape(random))] }),
  },
  ZerosLike: {
    dtypes: ANY,
    make: (random, dtype) => ({ attr: typed(dtype), inputs: [values(random, dtype, shape(random))] }),
  },
  OnesLike: {
    dtypes: ["float32", "int32", "int64", "bool"],
    make: (random, dtype) => ({ attr: typed(dtype), inputs: [values(random, dtype, shape(random))] }),
  },
  Range: {
    dtypes: ["int32", "int64", "float32"],
    make: (random, dtype) => {
      const step = random.pick([1, 2, -1, -3, 0]);
      const numbers = [random.below(9) - 4, random.below(9) - 4, step];
      return { attr: { Tidx: type(dtype) }, inputs: numbers.map((number) => tensorOf(dtype, [], [number])) };
    },
  },
  ConcatV2: {
    dtypes: ANY,
    make: (random, dtype) => {
      const { axis, parts } = joined(random, dtype);
      return {
        attr: typed(dtype, { N: attr.integer(parts.length) }),
        inputs: [
          ...parts,
          int(random.below(2) === 0 ? axis : axis - (parts[0] as { shape: readonly number[] }).shape.length),
        ],
      };
    },
  },
  Pack: {
    dtypes: ANY,
    make: (random, dtype) => {
      const dims = shape(random);
      const parts = Array.from({ length: 1 + random.below(3) }, () => values(random, dtype, dims));
      return {
        attr: typed(dtype, {
          N: attr.integer(parts.length),
          axis: attr.integer(random.below(2 * dims.length + 2) - dims.length - 1),
        }),
        inputs: parts,
      };
    },
  },
  Unpack: {
    dtypes: ANY,
    make: (random, dtype) => {
      const dims = fullShape(random, 3);
      const axis = random.below(6) - 3;
      const num = dims.at(axis) as number;
      return {
        attr: typed(dtype, { num: attr.integer(num), axis: attr.integer(axis) }),
        inputs: [values(random, dtype, dims)],
        outputs: num,
      };
    },
  },
  Split: {
    dtypes: ANY,
    make: (random, dtype) => ({
      attr: typed(dtype, { num_split: attr.integer(2) }),
      inputs: [int(random.pick([1, -2])), values(random, dtype, [3, 4, 2])],
      outputs: 2,
    }),
  },
  SplitV: {
    dtypes: ANY,
    make: (random, dtype) => ({
      attr: typed(dtype, { num_split: attr.integer(3), Tlen: type("int32") }),
      inputs: [
        values(random, dtype, [3, 5]),
        ints(
          ...random.pick([
            [1, 3, 1],
            [2, -1, 0],
            [1, 1, 1],
          ]),
        ),
        int(1),
      ],
      outputs: 3,
    }),
  },
  Slice: {
    dtypes: ANY,
    make: (random, dtype) => {
      const dims = fullShape(random, 3);
      const begin = dims.map((size) => random.below(size + 1));
      const size = dims.map((length, axis) => random.pick([-1, random.below(length - (begin[axis] as number) + 1), 1]));
      return {
        attr: typed(dtype, { Index: type("int32") }),
        inputs: [values(random, dtype, dims), ints(...begin), ints(...size)],
      };
    },
  },
  StridedSlice: {
    dtypes: ANY,
    make: (random, dtype) => {
      const mask = () => attr.integer(random.below(8));
      const strides = [0, 1, 2].map(() => random.pick([1, 1, 2, -1]));
      const [begin, end] = [0, 1].map(() => [0, 1, 2].map(() => random.below(9) - 4)) as [number[], number[]];
      const special = random.pick(["shrink_axis_mask", "new_axis_mask", "ellipsis_mask"]);
      const masks = { begin_mask: mask(), end_mask: mask(), [special]: attr.integer(random.pick([0, 1, 2, 4])) };
      return {
        attr: typed(dtype, { Index: type("int32"), ...masks }),
        inputs: [values(random, dtype, [3, 4, 2]), ints(...begin), ints(...end), ints(...strides)],
      };
    },
  },
  Pad: {
    dtypes: ["float32", "int32", "int64", "bool"],
    make: (random, dtype) => ({
      attr: typed(dtype),
      inputs: [
        values(random, dtype, shape(random, 2, 2)),
        tensorOf(
          "int32",
          [2, 2],
          [0, 1, 2, 3].map(() => random.below(3)),
        ),
      ],
    }),
  },
  PadV2: {
    dtypes: ["float32", "int32", "uint8"],
    make: (random, dtype) => ({
      attr: typed(dtype),
      inputs: [
        values(random, dtype, fullShape(random, 2)),
        tensorOf(
          "int32",
          [2, 2],
          [0, 1, 2, 3].map(() => random.below(3)),
        ),
        values(random, dtype, []),
      ],
    }),
  },
  MirrorPad: {
    dtypes: ["float32", "int32", "float64"],
    make: (random, dtype) => ({
      attr: typed(dtype, { mode: attr.text(random.pick(["REFLECT", "SYMMETRIC"])) }),
      inputs: [
        values(random, dtype, [3, 4]),
        tensorOf(
          "int32",
          [2, 2],
          [0, 1, 2, 3].map(() => random.below(3)),
        ),
      ],
    }),
  },
  GatherV2: {
    dtypes: ANY,
    make: (random, dtype) => {
      const batch = random.below(2);
      const params = values(random, dtype, [2, 3, 4]);
      const indices = tensorOf(
        random.pick(["int32", "int64"]),
        [2, 2],
        [0, 1, 2, 3].map(() => random.below(random.below(9) === 0 ? 5 : 2)),
      );
      return {
        attr: {
          Tparams: type(dtype),
          Tindices: type(indices.dtype),
          Taxis: type("int32"),
          batch_dims: attr.integer(batch),
        },
        inputs: [params, indices, int(random.pick(batch === 1 ? [1, 2, -1] : [0, 1, 2, -1]))],
      };
    },
  },
  GatherNd: {
    dtypes: ANY,
    make: (random, dtype) => {
      const depth = 1 + random.below(3);
      const indices = tensorOf(
        "int32",
        [2, depth],
        Array.from({ length: 2 * depth }, () => random.below(2)),
      );
      return {
        attr: { Tparams: type(dtype), Tindices: type("int32") },
        inputs: [values(random, dtype, [2, 2, 3]), indices],
      };
    },
  },
  ScatterNd: {
    dtypes: ["float32", "int32", "float64"],
    make: (random, dtype) => ({
      attr: typed(dtype, { Tindices: type("int32") }),
      inputs: [
        tensorOf(
          "int32",
          [3, 1],
          [0, 1, 2].map(() => random.below(4)),
        ),
        plain(random, dtype, [3, 2]),
        ints(4, 2),
      ],
    }),
  },
  TensorScatterUpdate: {
    dtypes: ["float32", "int32", "int64"],
    make: (random, dtype) => ({
      attr: typed(dtype, { Tindices: type("int32") }),
      inputs: [values(random, dtype, [4, 2]), tensorOf("int32", [3, 1], [0, 1, 3]), values(random, dtype, [3, 2])],
    }),
  },
  OneHot: {
    dtypes: ["float32", "int32", "int64", "bool"],
    make: (random, dtype) => ({
      attr: typed(dtype, { TI: type("int32"), axis: attr.integer(random.pick([-1, 0, 1])) }),
      inputs: [
        tensorOf(
          "int32",
          [2, 2],
          [0, 1, 2, 3].map(() => random.below(6) - 1),
        ),
        int(random.below(4)),
        values(random, dtype, []),
        values(random, dtype, []),
      ],
    }),
  },
  Where: {
    dtypes: ["bool", "float32", "int32"],
    make: (random, dtype) => ({ attr: typed(dtype), inputs: [values(random, dtype, shape(random, 3, 1))] }),
  },
  Select: {
    dtypes: ANY,
    make: (random, dtype) => {
      const dims = fullShape(random, 2);
      const condition = values(random, "bool", random.pick([dims, dims.slice(0, 1)]));
      return { attr: typed(dtype), inputs: [condition, values(random, dtype, dims), values(random, dtype, dims)] };
    },
  },
  SelectV2: {
    dtypes: ANY,
    make: (random, dtype) => {
      const dims = shape(random);
      const one = () => broadcastable(random, dims);
      return {
        attr: typed(dtype),
        inputs: [values(random, "bool", one()), values(random, dtype, one()), values(random, dtype, dims)],
      };
    },
  },
  TopKV2: {
    dtypes: NUMBERS,
    make: (random, dtype) => ({
      attr: typed(dtype),
      inputs: [plain(random, dtype, [2, 5]), int(random.below(7))],
      outputs: 2,
    }),
  },
  Unique: {
    dtypes: ["float32", "int32", "int64", "bytes"],
    make: (random, dtype) => ({
      attr: typed(dtype, { out_idx: type("int32") }),
      inputs: [dtype === "bytes" ? values(random, dtype, [6]) : plain(random, dtype, [6])],
      outputs: 2,
    }),
  },
  InvertPermutation: {
    dtypes: ["int32", "int64"],
    make: (random, dtype) => ({ attr: typed(dtype), inputs: [tensorOf(dtype, [4], permutation(random, 4))] }),
  },
  BroadcastArgs: {
    dtypes: ["int32", "int64"],
    make: (random, dtype) => {
      const dims = shape(random);
      return {
        attr: typed(dtype),
        inputs: [
          tensorOf(dtype, [dims.length], dims),
          tensorOf(
            dtype,
            [dims.length],
            dims.map(() => 1),
          ),
        ],
      };
    },
  },
};
