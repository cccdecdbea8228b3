import * as tf from "@tensorflow/tfjs-core";
import { ServingError } from "../../../../errors.ts";
import { dataTypeName, dataTypeNumber } from "../../saved-model/data-type.ts";
import {
  carrierOfType,
  FLOATS,
  type HostDType,
  highestOf,
  INTEGERS,
  integerOf,
  lowestOf,
  multiply,
  roundingOf,
  SHORT_FLOATS,
  TYPE,
} from "../element-types.ts";
import type { Kernel, KernelFactory, KernelTable, OpNode } from "../op-node.ts";
import { asTensor } from "../values.ts";
import { allocate } from "./binary.ts";

const SERIES_LIMIT = 0.5;

/** The error function, to float32's precision. */
function erf(x: number): number {
  if (Math.abs(x) < SERIES_LIMIT) return erfSeries(x);
  return 1 - erfc(x);
}

/**
 * Its complement, 1 - erf(x), relatively precise for large x too. Chebyshev fit of
 * Numerical Recipes §6.2, error below 1.2e-7.
 */
function erfc(x: number): number {
  if (Math.abs(x) < SERIES_LIMIT) return 1 - erfSeries(x);
  if (!Number.isFinite(x)) return Number.isNaN(x) ? x : x > 0 ? 0 : 2;
  const z = Math.abs(x);
  const t = 1 / (1 + 0.5 * z);
  const exponent = COEFFICIENTS.reduceRight((sum, coefficient) => sum * t + coefficient, 0);
  const tail = t * Math.exp(-z * z + exponent);
  return x >= 0 ? tail : 2 - tail;
}

const COEFFICIENTS = [
  -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223,
  0.17087277,
];

/** Taylor's series about 0, near which 1 - erfc would lose digits. */
function erfSeries(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; n < 12; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

const FLOATS_AND_INTEGERS: ReadonlySet<number> = new Set([...FLOATS, ...INTEGERS]);

/** A function of floats, by TensorFlow.js. */
function float(compute: (x: tf.Tensor) => tf.Tensor): KernelFactory {
  return (node) => {
    node.typeOf("T", FLOATS);
    return (x) => compute(asTensor(x));
  };
}

/** A function of floats, in JavaScript: if TensorFlow.js lacks it, or gives other numbers at the edges. */
function host(compute: (value: number) => number): KernelFactory {
  return float((x) => mapNumbers(x, "float32", compute));
}

/** A function of floats and of integers, which are brought back into their type. */
function number(
  ofFloats: (x: tf.Tensor) => tf.Tensor,
  ofIntegers: (value: number, type: number) => number,
): KernelFactory {
  return (node) => {
    const type = node.typeOf("T", FLOATS_AND_INTEGERS);
    if (FLOATS.has(type)) return (x) => ofFloats(asTensor(x));
    const wrap = integerOf(type);
    return (x) => mapNumbers(asTensor(x), "int32", (value) => wrap(ofIntegers(value, type)));
  };
}

/** A test of floats. */
function test(compute: (value: number) => boolean): KernelFactory {
  return (node) => {
    node.typeOf("T", FLOATS);
    return (x) => mapNumbers(asTensor(x), "bool", (value) => Number(compute(value)));
  };
}

/** Computes each element in JavaScript, in double precision, and rounds the result to the carrier's type. */
function mapNumbers(x: tf.Tensor, dtype: HostDType, compute: (value: number) => number): tf.Tensor {
  const values = x.dataSync();
  const results = allocate(dtype, values.length);
  for (let index = 0; index < values.length; index++) results[index] = compute(values[index]!);
  return tf.tensor(results, x.shape, dtype);
}

/** TensorFlow's rounding: halves go to the even neighbour. */
function roundHalfToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return rest > 0.5 ? floor + 1 : floor;
  return floor % 2 === 0 ? floor : floor + 1;
}

const reciprocal = float(tf.reciprocal);

const CASTABLE: ReadonlySet<number> = new Set([...FLOATS, ...SHORT_FLOATS, ...INTEGERS, TYPE.bool]);
const UNSIGNED: ReadonlySet<number> = new Set([dataTypeNumber("UINT32"), dataTypeNumber("UINT64")]);

function cast(node: OpNode): Kernel {
  const from = node.typeOf("SrcT", CASTABLE);
  const to = node.typeOf("DstT", CASTABLE);
  if (node.flag("Truncate", false)) return node.refuse("with Truncate");
  const carrier = carrierOfType(to) as "float32" | "int32" | "bool";
  if (carrier === "float32") return floatCast(to);
  if (carrier === "bool") return (x) => mapNumbers(asTensor(x), "bool", (value) => Number(value !== 0));
  if (carrierOfType(from) === "float32") return (x) => mapNumbers(asTensor(x), "int32", truncatedTo(to));
  if (from === TYPE.bool || from === to) return (x) => tf.cast(asTensor(x), "int32");
  const wrap = integerOf(to);
  return (x) => mapNumbers(asTensor(x), "int32", wrap);
}

function floatCast(to: number): Kernel {
  const round = roundingOf(to);
  return (x) => (round === undefined ? tf.cast(asTensor(x), "float32") : mapNumbers(asTensor(x), "float32", round));
}

/**
 * Towards zero. What int32 does not hold, NaN among it, becomes the lowest number, as x86 has it; for other types
 * TensorFlow's own answers vary with the tensor's size, so that is refused.
 */
function truncatedTo(type: number): (value: number) => number {
  const [lowest, highest] = rangeOf(type);
  return (value) => {
    const whole = Math.trunc(value);
    if (whole >= lowest && whole <= highest) return whole;
    if (type === TYPE.int32) return lowest;
    throw new ServingError(
      "out_of_range",
      `The model casts ${value} to ${dataTypeName(type)}, beyond what is cast alike everywhere (${lowest} to ${highest}).`,
    );
  };
}

/** The range that a type and 32 bits with sign have in common. */
function rangeOf(type: number): [lowest: number, highest: number] {
  const lowest = UNSIGNED.has(type) ? 0 : Math.max(lowestOf(type), lowestOf(TYPE.int32));
  return [lowest, Math.min(highestOf(type), highestOf(TYPE.int32))];
}

/** Operations of one tensor, element by element, and its conversion to another type. */
export const UNARY_KERNELS: KernelTable = {
  Cast: cast,
  Abs: number(tf.abs, Math.abs),
  Neg: number(tf.neg, (value) => -value),
  Square: number(tf.square, (value, type) => multiply(value, value, type)),
  Sign: number((x) => mapNumbers(x, "float32", Math.sign), Math.sign),
  Relu: number(tf.relu, (value) => Math.max(value, 0)),
  // WebAssembly's own takes NaN for one of the bounds.
  Relu6: number(
    (x) => tf.minimum(tf.maximum(x, 0), 6),
    (value) => Math.min(Math.max(value, 0), 6),
  ),
  Elu: float(tf.elu),
  Selu: float(tf.selu),
  LeakyRelu: (node) => {
    node.typeOf("T", FLOATS, TYPE.float);
    const alpha = node.float("alpha", Math.fround(0.2));
    return (x) => tf.leakyRelu(asTensor(x), alpha);
  },
  Reciprocal: reciprocal,
  Inv: reciprocal,
  Exp: float(tf.exp),
  Expm1: host(Math.expm1),
  Log: float(tf.log),
  Log1p: host(Math.log1p),
  Sqrt: float(tf.sqrt),
  Rsqrt: float(tf.rsqrt),
  Sin: host(Math.sin),
  Cos: host(Math.cos),
  Tan: host(Math.tan),
  Asin: host(Math.asin),
  Acos: host(Math.acos),
  Atan: host(Math.atan),
  Sinh: host(Math.sinh),
  Cosh: host(Math.cosh),
  Tanh: float(tf.tanh),
  Asinh: host(Math.asinh),
  Acosh: host(Math.acosh),
  Atanh: host(Math.atanh),
  Sigmoid: float(tf.sigmoid),
  Softplus: float(tf.softplus),
  Softsign: host((value) => value / (1 + Math.abs(value))),
  Erf: host(erf),
  Erfc: host(erfc),
  Floor: float(tf.floor),
  Ceil: float(tf.ceil),
  Round: host(roundHalfToEven),
  Rint: host(roundHalfToEven),
  IsNan: test(Number.isNaN),
  IsFinite: test(Number.isFinite),
  IsInf: test((value) => value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY),
  LogicalNot: () => (x) => tf.logicalNot(asTensor(x)),
  Invert: (node) => {
    const wrap = integerOf(node.typeOf("T", INTEGERS));
    return (x) => mapNumbers(asTensor(x), "int32", (value) => wrap(~value));
  },
};
