import type { DType } from "../../../../src/tensor/dtype.ts";
import type { Random } from "../../../grpc/random.ts";
import { tensorOf, type } from "./graph-writer.ts";
import { attr, int, type OpTrials, plain, shape, typed, values } from "./op-cases.ts";

const WORDS = ["", "a b", "Hello, World", " x ", "\xc3\x84b", "one,two,,three", "12", "-3.5", "MiXed 12 ab", "\t\n"];

function words(random: Random, dims: readonly number[], among: readonly string[] = WORDS) {
  const count = dims.reduce((product, size) => product * size, 1);
  return tensorOf(
    "bytes",
    dims,
    Array.from({ length: count }, () => random.pick(among)),
  );
}

const TEXT: readonly DType[] = ["bytes"];

function segments(random: Random, dtype: DType, ordered: boolean) {
  const ids = Array.from({ length: 5 }, () => random.below(4)).sort((a, b) => (ordered ? a - b : 0));
  const x = plain(random, dtype, random.below(2) === 0 ? [5] : [5, 2]);
  return { x, ids: tensorOf("int32", [5], ids) };
}

function unsorted(random: Random, dtype: DType) {
  const { x, ids } = segments(random, dtype, false);
  return { attr: typed(dtype, { Tindices: type("int32"), Tnumsegments: type("int32") }), inputs: [x, ids, int(4)] };
}

function sorted(random: Random, dtype: DType) {
  const { x, ids } = segments(random, dtype, true);
  return { attr: typed(dtype, { Tindices: type("int32") }), inputs: [x, ids] };
}

const NUMBERS: readonly DType[] = ["float32", "float64", "int32", "int64"];

/** Strings, segments and what is mostly empty. */
export const TEXT_TRIALS: OpTrials = {
  StringLower: {
    dtypes: TEXT,
    make: (random) => ({
      attr: { encoding: attr.text(random.pick(["", "utf-8"])) },
      inputs: [words(random, shape(random, 2))],
    }),
  },
  StringUpper: {
    dtypes: TEXT,
    make: (random) => ({
      attr: { encoding: attr.text(random.pick(["", "utf-8"])) },
      inputs: [words(random, shape(random, 2))],
    }),
  },
  StringStrip: { dtypes: TEXT, make: (random) => ({ attr: {}, inputs: [words(random, shape(random, 2))] }) },
  StringLength: {
    dtypes: TEXT,
    make: (random) => ({
      attr: { unit: attr.text(random.pick(["BYTE", "UTF8_CHAR"])) },
      inputs: [words(random, shape(random, 2))],
    }),
  },
  StringJoin: {
    dtypes: TEXT,
    make: (random) => {
      const dims = shape(random, 2);
      const inputs = Array.from({ length: 2 + random.below(2) }, () =>
        words(random, random.below(4) === 0 ? [] : dims),
      );
      return { attr: { N: attr.integer(inputs.length), separator: attr.text(random.pick(["", "-"])) }, inputs };
    },
  },
  Substr: {
    dtypes: TEXT,
    make: (random) => ({
      attr: typed("int32"),
      inputs: [words(random, [3], ["abcdef", "xyz"]), int(random.below(6) - 3), int(random.below(5))],
    }),
  },
  StringToHashBucketFast: {
    dtypes: TEXT,
    make: (random) => ({
      attr: { num_buckets: attr.integer(random.pick([10, 1000, 2 ** 31 - 1])) },
      inputs: [words(random, shape(random, 2))],
    }),
  },
  StaticRegexReplace: {
    dtypes: TEXT,
    make: (random) => {
      const [pattern, rewrite] = random.pick([
        ["[aeiou]+", "*"],
        ["\\s", ""],
        ["(\\w)(\\w)", "\\2\\1"],
        ["[!\"#$%&()\\*\\+,-\\./:;<=>?@\\[\\\\\\]^_`{|}~\\']", ""],
        ["^.", "<\\0>"],
        ["o|l", ""],
        ["(\\w+?)(\\s|$)|\\b.", "[\\1]\\2"],
        ["(?:([a-m])|([^a-m]){2,3})+", "\\2\\1"],
      ] as const);
      return {
        attr: {
          pattern: attr.text(pattern),
          rewrite: attr.text(rewrite),
          replace_global: attr.flag(random.below(2) === 0),
        },
        inputs: [words(random, shape(random, 2))],
      };
    },
  },
  StaticRegexFullMatch: {
    dtypes: TEXT,
    make: (random) => ({
      attr: { pattern: attr.text(random.pick(["a b|12", "[A-Z].*", "\\d+", ".{2}", "", "(\\w+)+|.?"])) },
      inputs: [words(random, shape(random, 2))],
    }),
  },
  AsString: {
    dtypes: ["int32", "int64", "float32", "bool"],
    make: (random, dtype) => ({
      attr: typed(dtype, dtype === "float32" ? { precision: attr.integer(random.below(4) - 1) } : {}),
      inputs: [values(random, dtype, shape(random, 2))],
    }),
  },
  StringToNumber: {
    dtypes: ["float32", "int32"],
    make: (random, dtype) => ({
      attr: { out_type: type(dtype) },
      inputs: [words(random, [2], dtype === "int32" ? ["12", "-7", "+3"] : ["1.5", "-2e3", ".5", "7.", " 4 ", "x"])],
    }),
  },
  EncodeBase64: {
    dtypes: TEXT,
    make: (random) => ({ attr: { pad: attr.flag(random.below(2) === 0) }, inputs: [words(random, shape(random, 2))] }),
  },
  DecodeBase64: {
    dtypes: TEXT,
    make: (random) => ({ attr: {}, inputs: [words(random, [2], ["YWI", "YWI=", "_-8", "", "YWJj"])] }),
  },
  StringSplitV2: {
    dtypes: TEXT,
    make: (random) => {
      const separator = random.pick(["", ",", " "]);
      return {
        attr: { maxsplit: attr.integer(separator === "" ? -1 : random.pick([-1, 1])) },
        inputs: [words(random, [3]), tensorOf("bytes", [], [separator])],
        outputs: 3,
      };
    },
  },
  RaggedTensorToTensor: {
    dtypes: ["float32", "int32", "bytes"],
    make: (random, dtype) => {
      const inner = random.pick([[], [2]]);
      const bySplits = random.below(2) === 0;
      const partitions = bySplits
        ? [tensorOf("int64", [4], [0, 2, 2, 5])]
        : [tensorOf("int64", [], [3]), tensorOf("int64", [5], [0, 0, 2, 2, 2])];
      const kinds = bySplits ? ["ROW_SPLITS"] : ["FIRST_DIM_SIZE", "VALUE_ROWIDS"];
      const wanted = tensorOf("int64", [2 + inner.length], [random.pick([-1, 2]), random.pick([-1, 1, 4]), ...inner]);
      return {
        attr: {
          T: type(dtype),
          Tindex: type("int64"),
          Tshape: type("int64"),
          num_row_partition_tensors: attr.integer(partitions.length),
          row_partition_types: { list: { s: kinds.map((kind) => Buffer.from(kind).toString("base64")) } },
        },
        inputs: [wanted, values(random, dtype, [5, ...inner]), values(random, dtype, []), ...partitions],
      };
    },
  },
  UnsortedSegmentSum: { dtypes: NUMBERS, make: unsorted },
  UnsortedSegmentProd: { dtypes: NUMBERS, make: unsorted },
  UnsortedSegmentMax: { dtypes: ["float32", "int32"], make: unsorted },
  UnsortedSegmentMin: { dtypes: ["float32", "int32"], make: unsorted },
  SegmentSum: { dtypes: NUMBERS, make: sorted },
  SegmentProd: { dtypes: NUMBERS, make: sorted },
  SegmentMax: { dtypes: NUMBERS, make: sorted },
  SegmentMin: { dtypes: NUMBERS, make: sorted },
  SegmentMean: { dtypes: ["float32", "float64"], make: sorted },
  DenseBincount: {
    dtypes: ["float32", "int32", "int64"],
    make: (random, dtype) => {
      const dims = random.pick([[5], [2, 3]]);
      const input = tensorOf(
        "int32",
        dims,
        Array.from({ length: dims.reduce((a, b) => a * b, 1) }, () => random.below(5)),
      );
      const weights = random.below(2) === 0 ? values(random, dtype, [0]) : plain(random, dtype, dims);
      return {
        attr: typed(dtype, { Tidx: type("int32"), binary_output: attr.flag(random.below(2) === 0) }),
        inputs: [input, int(4), weights],
      };
    },
  },
  Bucketize: {
    dtypes: ["float32", "int32", "int64"],
    make: (random, dtype) => ({
      attr: typed(dtype, { boundaries: { list: { f: [-1, 0, 2.5] } } }),
      inputs: [plain(random, dtype, shape(random))],
    }),
  },
  SparseToDense: {
    dtypes: ["float32", "int32", "bytes"],
    make: (random, dtype) => ({
      attr: typed(dtype, { Tindices: type("int64") }),
      inputs: [
        tensorOf(
          "int64",
          [2, 2],
          random.pick([
            [0, 1, 2, 0],
            [0, 0, 0, 1],
            [1, 1, 0, 0],
          ]),
        ),
        tensorOf("int64", [2], [3, 2]),
        values(random, dtype, random.pick([[], [2]])),
        values(random, dtype, []),
      ],
    }),
  },
  SparseTensorDenseMatMul: {
    dtypes: ["float32", "float64"],
    make: (random, dtype) => ({
      attr: typed(dtype, { Tindices: type("int64") }),
      inputs: [
        tensorOf("int64", [2, 2], [0, 1, 2, 0]),
        plain(random, dtype, [2]),
        tensorOf("int64", [2], [3, 2]),
        plain(random, dtype, [2, 3]),
      ],
    }),
  },
  MatrixBandPart: {
    dtypes: ["float32", "int32", "bool"],
    make: (random, dtype) => ({
      attr: typed(dtype, { Tindex: type("int32") }),
      inputs: [values(random, dtype, [2, 3, 4]), int(random.below(4) - 1), int(random.below(4) - 1)],
    }),
  },
  UniqueWithCounts: {
    dtypes: ["float32", "int32", "bytes"],
    make: (random, dtype) => ({
      attr: typed(dtype, { out_idx: type("int32") }),
      inputs: [dtype === "bytes" ? values(random, dtype, [6]) : plain(random, dtype, [6])],
      outputs: 3,
    }),
  },
};
