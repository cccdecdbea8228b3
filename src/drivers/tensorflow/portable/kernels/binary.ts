import * as tf from "@tensorflow/tfjs-core";
import { invalidArgument } from "../../../../errors.ts";
import { elementCount } from "../../../../tensor/tensor.ts";
import { sizeOfNew } from "../../tfjs/kernel-checks.ts";
import {
  bitsOf,
  FLOATS,
  type HostDType,
  INTEGERS,
  integerOf,
  multiply,
  TYPE,
  WIDE_INTEGERS,
} from "../element-types.ts";
import type { Kernel, KernelFactory, KernelTable } from "../op-node.ts";
import { asTensor, type Strings, type Value } from "../values.ts";

type Pair = (a: number, b: number) => number;
/** Knows the integers' type. */
type IntegerPair = (a: number, b: number, type: number) => number;

const FLOATS_AND_INTEGERS: ReadonlySet<number> = new Set([...FLOATS, ...INTEGERS]);

/** Computation of an operation on floats and integers; the integers' results are brought back into their type. */
interface Arithmetic {
  /** By TensorFlow.js. */
  readonly floats?: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor;
  /** In JavaScript, if TensorFlow.js lacks it or gives other numbers at the edges. */
  readonly hostFloats?: Pair;
  readonly integers?: IntegerPair;
  /** By TensorFlow.js, for int32 alone: it wraps around as TensorFlow does. */
  readonly int32?: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor;
}

function arithmetic({ floats, hostFloats, integers, int32 }: Arithmetic): KernelFactory {
  const takesFloats = (floats ?? hostFloats) !== undefined;
  const allowed = new Set([...(takesFloats ? FLOATS : []), ...(integers ? INTEGERS : [])]);
  return (node) => {
    const type = node.typeOf("T", allowed);
    if (FLOATS.has(type)) return floats === undefined ? zip("float32", hostFloats as Pair) : both(floats);
    if (type === TYPE.int32 && int32 !== undefined) return both(int32);
    const wrap = integerOf(type);
    return zip("int32", (a, b) => wrap((integers as IntegerPair)(a, b, type)));
  };
}

function both(compute: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor): Kernel {
  return (a, b) => compute(asTensor(a), asTensor(b));
}

function zip(dtype: HostDType, compute: Pair): Kernel {
  return (a, b) => zipNumbers([asTensor(a), asTensor(b)], dtype, compute);
}

/** Computes pairs of elements, the shapes broadcast to each other; throws an Error for shapes that do not fit. */
function zipNumbers(
  [a, b]: readonly [tf.Tensor, tf.Tensor],
  dtype: HostDType,
  compute: (a: number, b: number) => number,
): tf.Tensor {
  const shape = broadcastShape(a.shape, b.shape);
  const [left, right] = [spread(a, shape), spread(b, shape)];
  const results = allocate(dtype, sizeOfNew(shape, "The result of a broadcast"));
  for (let index = 0; index < results.length; index++) {
    results[index] = compute(left(index), right(index));
  }
  return tf.tensor(results, shape, dtype);
}

/** The shape that two shapes broadcast to; throws an Error if they do not. */
export function broadcastShape(a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis) => {
    const [m, n] = [a[axis - rank + a.length] ?? 1, b[axis - rank + b.length] ?? 1];
    if (m !== n && m !== 1 && n !== 1) throw new Error(`Incompatible shapes: [${a}] vs. [${b}]`);
    return m === 1 ? n : m;
  });
}

/** Reads a tensor's element at an index of the larger shape. */
function spread(x: tf.Tensor, shape: readonly number[]): (index: number) => number {
  const values = x.dataSync();
  if (values.length === 1) return () => values[0]!;
  if (values.length === elementCount(shape)) return (index) => values[index]!;
  const steps = stepsOf(x.shape, shape);
  return (index) => {
    let rest = index;
    let from = 0;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const size = shape[axis]!;
      from += (rest % size) * steps[axis]!;
      rest = Math.floor(rest / size);
    }
    return values[from]!;
  };
}

/** Distance between neighbours along each axis of the larger shape; 0 along axes that repeat. */
function stepsOf(small: readonly number[], shape: readonly number[]): number[] {
  const steps = new Array<number>(shape.length).fill(0);
  let step = 1;
  for (let axis = small.length - 1; axis >= 0; axis--) {
    if (small[axis] !== 1) steps[axis + shape.length - small.length] = step;
    step *= small[axis]!;
  }
  return steps;
}

/** Numbers in memory that TensorFlow.js takes as they are. */
export function allocate(dtype: HostDType, length: number): Float32Array | Int32Array | Uint8Array {
  if (dtype === "float32") return new Float32Array(length);
  return dtype === "int32" ? new Int32Array(length) : new Uint8Array(length);
}

/** Numbers compared by TensorFlow.js, strings by their bytes. */
function comparison(
  compute: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor,
  ofStrings?: (equal: boolean) => boolean,
): KernelFactory {
  const allowed = new Set([...FLOATS_AND_INTEGERS, ...(ofStrings ? [TYPE.bool, TYPE.string] : [])]);
  return (node) => {
    const type = node.typeOf("T", allowed);
    if (!node.flag("incompatible_shape_error", true)) return node.refuse("with incompatible_shape_error=false");
    if (type !== TYPE.string) return both((a, b) => compute(comparable(a), comparable(b)));
    return (a, b) => compareStrings([a as Strings, b as Strings], ofStrings as (equal: boolean) => boolean);
  };
}

/** WebAssembly compares no booleans. */
function comparable(x: tf.Tensor): tf.Tensor {
  return x.dtype === "bool" ? tf.cast(x, "int32") : x;
}

function compareStrings([a, b]: readonly [Strings, Strings], judge: (equal: boolean) => boolean): Value {
  const numbers = new Map<string, number>();
  const toNumber = (element: Uint8Array) => {
    const text = Buffer.from(element).toString("latin1");
    const known = numbers.get(text) ?? numbers.size;
    numbers.set(text, known);
    return known;
  };
  const numbered = ({ elements, shape }: Strings) => tf.tensor(elements.map(toNumber), [...shape], "int32");
  return zipNumbers([numbered(a), numbered(b)], "bool", (left, right) => Number(judge(left === right)));
}

function truncatedQuotient(a: number, b: number): number {
  return Math.trunc(a / nonZero(b));
}

function flooredQuotient(a: number, b: number): number {
  return Math.floor(a / nonZero(b));
}

function nonZero(divisor: number): number {
  if (divisor !== 0) return divisor;
  throw invalidArgument("Integer division by zero");
}

/** Of the divisor's sign. */
function flooredRest(a: number, b: number): number {
  const rest = a % b;
  return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
}

function integerPower(base: number, exponent: number, type: number): number {
  if (exponent < 0) {
    throw invalidArgument("Integers to negative integer powers are not allowed");
  }
  if (WIDE_INTEGERS.has(type)) return base ** exponent;
  // Whatever is lost above 32 bits would be cut off in any case.
  let power = 1;
  for (let rest = exponent, square = base; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) power = Math.imul(power, square);
    square = Math.imul(square, square);
  }
  return power;
}

function squaredDifference(a: number, b: number, type: number): number {
  const difference = type === TYPE.int32 ? (a - b) | 0 : a - b;
  return multiply(difference, difference, type);
}

const add = arithmetic({ floats: tf.add, integers: (a, b) => a + b, int32: tf.add });
const realDivision = arithmetic({ floats: tf.div });

function bitwise(compute: Pair): KernelFactory {
  return (node) => {
    const wrap = integerOf(node.typeOf("T", INTEGERS));
    return zip("int32", (a, b) => wrap(compute(a, b)));
  };
}

/** TensorFlow keeps a shift within the type's bits. */
function shift(compute: (value: number, by: number, type: number) => number): KernelFactory {
  return (node) => {
    const type = node.typeOf("T", INTEGERS);
    const [wrap, most] = [integerOf(type), bitsOf(type) - 1];
    return zip("int32", (a, b) => wrap(compute(a, Math.min(Math.max(b, 0), most), type)));
  };
}

/** A left shift of a wide type that leaves 32 bits is refused, like any number there. */
function shiftLeft(value: number, by: number, type: number): number {
  return WIDE_INTEGERS.has(type) ? value * 2 ** by : value << by;
}

function logical(compute: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor): KernelFactory {
  return () => both(compute);
}

/**
 * TensorFlow's maximum of NaN and a number is NaN; WebAssembly's is the first of the
 * two. Quick if that is not a constant.
 */
function clamp(
  quick: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor,
  exact: Pair,
): (a: tf.Tensor, b: tf.Tensor) => tf.Tensor {
  const isBound = (x: tf.Tensor) => x.size === 1 && !Number.isNaN(x.dataSync()[0]);
  return (a, b) => {
    if (isBound(b)) return quick(a, b);
    return isBound(a) ? quick(b, a) : zipNumbers([a, b], "float32", (left, right) => exact(left, right));
  };
}

/** Operations of two tensors that broadcast to each other. */
export const BINARY_KERNELS: KernelTable = {
  Add: add,
  AddV2: add,
  Sub: arithmetic({ floats: tf.sub, integers: (a, b) => a - b, int32: tf.sub }),
  Mul: arithmetic({ floats: tf.mul, integers: multiply, int32: (a, b) => zipNumbers([a, b], "int32", Math.imul) }),
  MulNoNan: arithmetic({ hostFloats: (a: number, b: number) => (b === 0 ? 0 : a * b) }),
  RealDiv: realDivision,
  Div: (node) => (FLOATS.has(node.type("T")) ? realDivision(node) : arithmetic({ integers: truncatedQuotient })(node)),
  DivNoNan: arithmetic({ hostFloats: (a: number, b: number) => (b === 0 ? 0 : a / b) }),
  FloorDiv: arithmetic({
    hostFloats: (a: number, b: number) => Math.floor(Math.fround(a / b)),
    integers: flooredQuotient,
  }),
  TruncateDiv: arithmetic({ integers: truncatedQuotient }),
  FloorMod: arithmetic({ hostFloats: flooredRest, integers: (a, b) => flooredRest(a, nonZero(b)) }),
  Mod: arithmetic({ hostFloats: (a: number, b: number) => a % b, integers: (a, b) => a % nonZero(b) }),
  TruncateMod: arithmetic({ hostFloats: (a: number, b: number) => a % b, integers: (a, b) => a % nonZero(b) }),
  Pow: arithmetic({ floats: tf.pow, integers: integerPower }),
  Maximum: arithmetic({ floats: clamp(tf.maximum, Math.max), integers: (a, b) => Math.max(a, b) }),
  Minimum: arithmetic({ floats: clamp(tf.minimum, Math.min), integers: (a, b) => Math.min(a, b) }),
  SquaredDifference: arithmetic({
    floats: tf.squaredDifference,
    integers: squaredDifference,
  }),
  Atan2: arithmetic({ hostFloats: Math.atan2 }),
  Xdivy: arithmetic({ hostFloats: (a: number, b: number) => (a === 0 ? 0 : a / b) }),
  Xlogy: arithmetic({ hostFloats: (a: number, b: number) => (a === 0 ? 0 : a * Math.log(b)) }),
  Xlog1py: arithmetic({ hostFloats: (a: number, b: number) => (a === 0 ? 0 : a * Math.log1p(b)) }),
  Equal: comparison(tf.equal, (equal) => equal),
  NotEqual: comparison(tf.notEqual, (equal) => !equal),
  Less: comparison(tf.less),
  LessEqual: comparison(tf.lessEqual),
  Greater: comparison(tf.greater),
  GreaterEqual: comparison(tf.greaterEqual),
  LogicalAnd: logical(tf.logicalAnd),
  LogicalOr: logical(tf.logicalOr),
  BitwiseAnd: bitwise((a, b) => a & b),
  BitwiseOr: bitwise((a, b) => a | b),
  BitwiseXor: bitwise((a, b) => a ^ b),
  LeftShift: shift(shiftLeft),
  RightShift: shift((value, by) => Math.floor(value / 2 ** by)),
};
