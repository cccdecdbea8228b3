import * as tf from "@tensorflow/tfjs-core";
import { FLOATS, INTEGERS, integerOf, multiply, TYPE } from "../element-types.ts";
import { mapNumbers } from "../host-math.ts";
import type { KernelFactory, KernelTable } from "../op-node.ts";
import { erf, erfc } from "../special-functions.ts";
import { asTensor } from "../values.ts";

const FLOATS_AND_INTEGERS: ReadonlySet<number> = new Set([...FLOATS, ...INTEGERS]);

/** A function of floats, by TensorFlow.js. */
function float(compute: (x: tf.Tensor) => tf.Tensor): KernelFactory {
  return (node) => {
    node.typeOf("T", FLOATS);
    return (x) => compute(asTensor(x));
  };
}

/** A function of floats, in JavaScript: where TensorFlow.js lacks it, or gives other numbers at the edges. */
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

/** TensorFlow's rounding: halves go to the even neighbour. */
function roundHalfToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return rest > 0.5 ? floor + 1 : floor;
  return floor % 2 === 0 ? floor : floor + 1;
}

const reciprocal = float(tf.reciprocal);

/** Operations of one tensor, element by element. */
export const UNARY_KERNELS: KernelTable = {
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
