import type { DType } from "../../../../src/tensor/dtype.ts";
import type { Random } from "../../../grpc/random.ts";
import { type } from "./graph-writer.ts";
import { attr, broadcastable, FLOATS, NUMBERS, type OpTrial, type OpTrials, shape, typed, values } from "./op-cases.ts";

const UNARY_FLOATS =
  "Elu Selu Exp Expm1 Log Log1p Sqrt Rsqrt Reciprocal Inv Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Sigmoid Softplus Softsign Erfc Floor Ceil Rint Round IsNan IsFinite IsInf";
const UNARY_NUMBERS = "Abs Neg Square Sign Relu Relu6";
const PAIRS = "AddV2 Sub Mul FloorDiv FloorMod Maximum Minimum Less LessEqual Greater GreaterEqual";
const FLOAT_PAIRS = "RealDiv Div DivNoNan MulNoNan Pow Atan2 Xdivy Xlogy Xlog1py Mod";
const INTEGER_PAIRS = "TruncateDiv BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift";
const INTEGERS: readonly DType[] = ["int32", "int64", "uint8", "int8", "int16", "uint16"];
const SIGNED = NUMBERS.filter((dtype) => !dtype.startsWith("uint"));
const CASTS: readonly DType[] = [
  "float32",
  "float64",
  "int32",
  "int64",
  "uint8",
  "int8",
  "int16",
  "uint16",
  "bool",
  "float16",
  "bfloat16",
];

function each(names: string, trial: OpTrial): OpTrials {
  return Object.fromEntries(names.split(" ").map((name) => [name, trial]));
}

function unary(random: Random, dtype: DType) {
  return { attr: typed(dtype), inputs: [values(random, dtype, shape(random))] };
}

function pair(random: Random, dtype: DType) {
  const dims = shape(random);
  const operands = [values(random, dtype, dims), values(random, dtype, broadcastable(random, dims))];
  return { attr: typed(dtype), inputs: random.below(2) === 0 ? operands : operands.reverse() };
}

/** Operations element by element. */
export const ELEMENT_TRIALS: OpTrials = {
  ...each(UNARY_FLOATS, { dtypes: FLOATS, make: unary }),
  ...each(UNARY_NUMBERS, { dtypes: SIGNED, make: unary }),
  ...each(PAIRS, { dtypes: NUMBERS, make: pair }),
  Add: { dtypes: NUMBERS.filter((dtype) => dtype !== "uint16"), make: pair },
  TruncateMod: { dtypes: ["int32", "int64"], make: pair },
  SquaredDifference: { dtypes: ["float32", "float64", "int32", "int64"], make: pair },
  ...each(FLOAT_PAIRS, { dtypes: FLOATS, make: pair }),
  ...each(INTEGER_PAIRS, { dtypes: INTEGERS, make: pair }),
  ...each("Equal NotEqual", { dtypes: [...NUMBERS, "bool", "bytes"], make: pair }),
  ...each("LogicalAnd LogicalOr", {
    dtypes: ["bool"],
    make: (random, dtype) => ({ ...pair(random, dtype), attr: {} }),
  }),
  // Of an infinite float64, TensorFlow's own answer is NaN.
  Erf: { dtypes: ["float32"], make: unary },
  LogicalNot: { dtypes: ["bool"], make: (random, dtype) => ({ ...unary(random, dtype), attr: {} }) },
  Invert: { dtypes: INTEGERS, make: unary },
  LeakyRelu: {
    dtypes: FLOATS,
    make: (random, dtype) => ({ ...unary(random, dtype), attr: typed(dtype, { alpha: attr.float(0.25) }) }),
  },
  Cast: {
    dtypes: CASTS.filter((dtype) => !/16/.test(dtype) || dtype === "int16"),
    make: (random, dtype) => ({
      attr: { SrcT: type(dtype), DstT: type(random.pick(CASTS)) },
      inputs: [values(random, dtype, shape(random))],
    }),
  },
  AddN: {
    dtypes: ["float32", "float64", "int32"],
    make: (random, dtype) => {
      const dims = shape(random);
      const inputs = Array.from({ length: 1 + random.below(3) }, () => values(random, dtype, dims));
      return { attr: typed(dtype, { N: attr.integer(inputs.length) }), inputs };
    },
  },
};
