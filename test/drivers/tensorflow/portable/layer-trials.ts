import type { DType } from "../../../../src/tensor/dtype.ts";
import type { Random } from "../../../grpc/random.ts";
import { tensorOf, type } from "./graph-writer.ts";
import { attr, FLOATS, int, ints, type OpTrials, plain, shape, typed, values } from "./op-cases.ts";

const PADDINGS = ["SAME", "VALID"];

function window(random: Random, strides: number[], dilations: number[]) {
  const padding = random.pick(PADDINGS);
  return {
    strides: attr.integers(1, ...strides, 1),
    dilations: attr.integers(1, ...dilations, 1),
    padding: attr.text(padding),
  };
}

function convolution(random: Random, dtype: DType) {
  const [height, width] = [4 + random.below(4), 4 + random.below(4)];
  const filter = [1 + random.below(3), 1 + random.below(3), 3, 2];
  const stride = 1 + random.below(2);
  const rate = stride === 1 ? 1 + random.below(2) : 1;
  const explicit = random.below(4) === 0;
  const attributes = window(random, [stride, stride], [rate, rate]);
  const paddings = { padding: attr.text("EXPLICIT"), explicit_paddings: attr.integers(0, 0, 1, 0, 2, 1, 0, 0) };
  return {
    attr: typed(dtype, { ...attributes, ...(explicit ? paddings : {}) }),
    inputs: [plain(random, dtype, [1 + random.below(2), height, width, 3]), plain(random, dtype, filter)],
  };
}

function pool(random: Random, dtype: DType) {
  const [size, stride] = [1 + random.below(3), 1 + random.below(2)];
  return {
    attr: typed(dtype, {
      ksize: attr.integers(1, size, size, 1),
      strides: attr.integers(1, stride, stride, 1),
      padding: attr.text(random.pick(PADDINGS)),
    }),
    inputs: [(random.below(4) === 0 ? values : plain)(random, dtype, [1, 5, 4, 2])],
  };
}

function matMul(random: Random, dtype: DType) {
  const [a, b] = [random.below(2) === 0, random.below(2) === 0];
  const [rows, inner, columns] = [1 + random.below(3), random.below(9) === 0 ? 0 : 3, 1 + random.below(4)];
  return {
    attr: typed(dtype, { transpose_a: attr.flag(a), transpose_b: attr.flag(b) }),
    inputs: [
      plain(random, dtype, a ? [inner, rows] : [rows, inner]),
      plain(random, dtype, b ? [columns, inner] : [inner, columns]),
    ],
  };
}

function batchMatMul(random: Random, dtype: DType) {
  const [x, y] = [random.below(2) === 0, random.below(2) === 0];
  const batches = random.pick([
    [[2], [2]],
    [[2, 1], [3]],
    [[], [2]],
    [[1], [4]],
  ]) as [number[], number[]];
  return {
    attr: typed(dtype, { adj_x: attr.flag(x), adj_y: attr.flag(y) }),
    inputs: [
      plain(random, dtype, [...batches[0], ...(x ? [3, 2] : [2, 3])]),
      plain(random, dtype, [...batches[1], ...(y ? [2, 3] : [3, 2])]),
    ],
  };
}

function resize(random: Random, dtype: DType) {
  const kind = random.below(3);
  return {
    attr: typed(dtype, { align_corners: attr.flag(kind === 1), half_pixel_centers: attr.flag(kind === 2) }),
    inputs: [plain(random, dtype, [1, 3, 4, 2]), ints(1 + random.below(8), 1 + random.below(8))],
  };
}

function boxes(random: Random): number[] {
  return Array.from({ length: 5 }, () => {
    const [y, x] = [random.below(50) / 100, random.below(50) / 100];
    return [y, x, y + 0.3 + random.below(30) / 100, x + 0.3 + random.below(30) / 100];
  }).flat();
}

/** Layers of neural networks, and images. */
export const LAYER_TRIALS: OpTrials = {
  Conv2D: { dtypes: FLOATS, make: convolution },
  DepthwiseConv2dNative: {
    dtypes: FLOATS,
    make: (random, dtype) => {
      const { attr: attributes, inputs } = convolution(random, dtype);
      // TensorFlow dilates float32 only.
      const plainRates = dtype === "float32" ? {} : { dilations: attr.integers(1, 1, 1, 1) };
      return { attr: { ...attributes, ...plainRates }, inputs };
    },
  },
  Conv2DBackpropInput: {
    dtypes: FLOATS,
    make: (random, dtype) => {
      const stride = 1 + random.below(2);
      const same = random.below(2) === 0;
      const size = same ? 3 * stride : (3 - 1) * stride + 2;
      return {
        attr: typed(dtype, {
          strides: attr.integers(1, stride, stride, 1),
          padding: attr.text(same ? "SAME" : "VALID"),
        }),
        inputs: [ints(1, size, size, 2), plain(random, dtype, [2, 2, 2, 3]), plain(random, dtype, [1, 3, 3, 3])],
      };
    },
  },
  MaxPool: { dtypes: FLOATS, make: pool },
  AvgPool: { dtypes: FLOATS, make: pool },
  MatMul: { dtypes: FLOATS, make: matMul },
  BatchMatMulV2: { dtypes: FLOATS, make: batchMatMul },
  Einsum: {
    dtypes: FLOATS,
    make: (random, dtype) => {
      const [equation, ...shapes] = random.pick([
        ["abc,cd->abd", [2, 3, 4], [4, 2]],
        ["ab,bc->ca", [2, 3], [3, 4]],
        ["abcd,aecd->acbe", [1, 2, 2, 3], [1, 4, 2, 3]],
        ["ab->ba", [2, 3]],
      ] as const);
      return {
        attr: typed(dtype, { equation: attr.text(equation), N: attr.integer(shapes.length) }),
        inputs: shapes.map((dims) => plain(random, dtype, dims)),
      };
    },
  },
  BiasAdd: {
    dtypes: FLOATS,
    make: (random, dtype) => ({
      attr: typed(dtype),
      inputs: [values(random, dtype, [...shape(random, 3, 1), 3]), values(random, dtype, [3])],
    }),
  },
  FusedBatchNormV3: {
    dtypes: ["float32"],
    make: (random, dtype) => ({
      attr: typed(dtype, { U: type("float32"), epsilon: attr.float(0.001), is_training: attr.flag(false) }),
      inputs: [
        plain(random, dtype, [2, 3, 2, 2]),
        ...[0, 1, 2].map(() => plain(random, dtype, [2])),
        tensorOf(dtype, [2], [0.5, 2]),
      ],
    }),
  },
  Softmax: {
    dtypes: FLOATS,
    make: (random, dtype) => ({
      attr: typed(dtype),
      inputs: [(random.below(2) === 0 ? values : plain)(random, dtype, shape(random, 3, 1))],
    }),
  },
  LogSoftmax: {
    dtypes: FLOATS,
    make: (random, dtype) => ({
      attr: typed(dtype),
      inputs: [(random.below(2) === 0 ? values : plain)(random, dtype, shape(random, 3, 1))],
    }),
  },
  LRN: {
    dtypes: ["float32"],
    make: (random, dtype) => ({
      attr: typed(dtype, {
        depth_radius: attr.integer(1 + random.below(3)),
        bias: attr.float(1),
        alpha: attr.float(0.5),
        beta: attr.float(0.75),
      }),
      inputs: [plain(random, dtype, [1, 2, 2, 5])],
    }),
  },
  DepthToSpace: {
    dtypes: ["float32"],
    make: (random, dtype) => ({
      attr: typed(dtype, { block_size: attr.integer(2) }),
      inputs: [plain(random, dtype, [1, 2, 3, 8])],
    }),
  },
  SpaceToBatchND: {
    dtypes: FLOATS,
    make: (random, dtype) => ({
      attr: typed(dtype, { Tblock_shape: type("int32"), Tpaddings: type("int32") }),
      inputs: [plain(random, dtype, [1, 4, 3, 2]), ints(2, 2), tensorOf("int32", [2, 2], [0, 0, 1, 0])],
    }),
  },
  BatchToSpaceND: {
    dtypes: FLOATS,
    make: (random, dtype) => ({
      attr: typed(dtype, { Tblock_shape: type("int32"), Tcrops: type("int32") }),
      inputs: [plain(random, dtype, [4, 2, 2, 1]), ints(2, 2), tensorOf("int32", [2, 2], [0, 1, 1, 0])],
    }),
  },
  ResizeBilinear: { dtypes: ["float32", "uint8", "int32"], make: resize },
  ResizeNearestNeighbor: { dtypes: ["float32", "uint8", "int32"], make: resize },
  NonMaxSuppressionV3: {
    dtypes: ["float32"],
    make: (random) => ({
      attr: typed("float32"),
      inputs: [
        tensorOf("float32", [5, 4], boxes(random)),
        tensorOf("float32", [5], [0.9, 0.8, 0.75, 0.6, 0.1]),
        int(1 + random.below(5)),
        tensorOf("float32", [], [0.4]),
        tensorOf("float32", [], [0.2]),
      ],
    }),
  },
  CropAndResize: {
    dtypes: ["float32"],
    make: (random, dtype) => ({
      attr: typed(dtype, { method: attr.text("bilinear"), extrapolation_value: attr.float(0.5) }),
      inputs: [
        plain(random, dtype, [2, 4, 5, 2]),
        tensorOf("float32", [5, 4], boxes(random)),
        ints(0, 1, 1, 0, 1),
        ints(3, 2),
      ],
    }),
  },
};
