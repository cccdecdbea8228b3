import * as tf from "@tensorflow/tfjs-core";
import { invalidArgument, type ServingError } from "../../../errors.ts";
import type { DType, NumericData, NumericDType } from "../../../tensor/dtype.ts";
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from "../../../tensor/float16.ts";
import { createTensor, elementCount, type Tensor, type Tensors } from "../../../tensor/tensor.ts";

/** TensorFlow.js has no other numbers. */
type TfjsDType = "float32" | "int32" | "bool";

/** Carrier of each numeric dtype in TensorFlow.js; a dtype that is missing cannot be carried. */
const CARRIERS: Readonly<Partial<Record<DType, TfjsDType>>> = {
  float32: "float32",
  float64: "float32",
  float16: "float32",
  bfloat16: "float32",
  int8: "int32",
  int16: "int32",
  int32: "int32",
  int64: "int32",
  uint8: "int32",
  uint16: "int32",
  uint32: "int32",
  uint64: "int32",
  bool: "bool",
};

/** The dtype that carries ours in TensorFlow.js; undefined for `bytes` and complex numbers. */
function carrierOf(dtype: DType): TfjsDType | undefined {
  return CARRIERS[dtype];
}

/**
 * A tensor of TensorFlow.js; throws `invalid_argument`, saying which number of `what`
 * is too large, if 32 bits do not hold it.
 */
export function toTfjsTensor({ dtype, shape, data }: Tensor, what: string): tf.Tensor {
  const carrier = carrierOf(dtype);
  if (carrier === undefined) throw invalidArgument(`${what} is of type ${dtype}, which this engine cannot carry.`);
  return tf.tensor(toCarrierData(dtype as NumericDType, data as NumericData, what), [...shape], carrier);
}

/** Our tensor from one of TensorFlow.js that stands for `dtype`; its numbers are copied. */
export function fromTfjsTensor(tensor: tf.Tensor, dtype: NumericDType): Tensor {
  return createTensor(dtype, tensor.shape, fromCarrierData(dtype, tensor.dataSync()) as never);
}

function toCarrierData(dtype: NumericDType, data: NumericData, what: string): Float32Array | Int32Array | Uint8Array {
  switch (dtype) {
    case "float32":
    case "int32":
    case "bool":
      return data as Float32Array | Int32Array | Uint8Array;
    case "float64":
      return narrowFloats(data as Float64Array, what);
    case "float16":
      return Float32Array.from(data as Uint16Array, fromFloat16);
    case "bfloat16":
      return Float32Array.from(data as Uint16Array, fromBfloat16);
    case "int64":
    case "uint64":
    case "uint32":
      return narrowIntegers(data as BigInt64Array | Uint32Array, what);
    default:
      return Int32Array.from(data as Uint8Array);
  }
}

function narrowFloats(data: Float64Array, what: string): Float32Array {
  const narrow = Float32Array.from(data);
  const lost = narrow.findIndex((value, index) => !Number.isFinite(value) && Number.isFinite(data[index]));
  if (lost === -1) return narrow;
  throw beyond(`${what} has ${data[lost]} at element ${lost}, beyond float32`);
}

function narrowIntegers(data: BigInt64Array | BigUint64Array | Uint32Array, what: string): Int32Array {
  const narrow = new Int32Array(data.length);
  for (let index = 0; index < data.length; index++) {
    const value = Number(data[index]);
    if (value > 0x7fffffff || value < -0x80000000)
      throw beyond(`${what} has ${data[index]} at element ${index}, beyond 32 bits with sign`);
    narrow[index] = value;
  }
  return narrow;
}

function beyond(problem: string): ServingError {
  return invalidArgument(`${problem}; this engine computes in 32 bits, the native one in 64.`);
}

function fromCarrierData(dtype: NumericDType, values: ArrayLike<number>): NumericData {
  switch (dtype) {
    case "float64":
      return Float64Array.from(values);
    case "float16":
      return Uint16Array.from(values, toFloat16);
    case "bfloat16":
      return Uint16Array.from(values, toBfloat16);
    case "int64":
      return BigInt64Array.from(values as Int32Array as unknown as number[], BigInt);
    case "uint64":
      return BigUint64Array.from(values as Int32Array as unknown as number[], BigInt);
    case "uint32":
      return Uint32Array.from(values);
    case "uint16":
      return Uint16Array.from(values);
    case "uint8":
      return Uint8Array.from(values);
    case "int16":
      return Int16Array.from(values);
    case "int8":
      return Int8Array.from(values);
    default:
      return values as unknown as NumericData;
  }
}

/**
 * Throws `invalid_argument` for an input without elements: kernels in WebAssembly divide by its sizes, which traps, and
 * a trap ends the thread with the requests of others.
 */
export function refuseEmpty(inputs: Tensors): void {
  for (const [name, { shape }] of Object.entries(inputs)) {
    if (elementCount(shape) > 0) continue;
    throw invalidArgument(`Input "${name}" has shape [${shape}], so no elements; TensorFlow.js needs one at least.`);
  }
}
