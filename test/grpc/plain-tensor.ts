import { DTYPES, type DType } from "../../src/tensor/dtype.ts";
import { type Tensor, toBytes } from "../../src/tensor/tensor.ts";

/** TensorFlow's name of each type and of the field for its values, as its tensor.proto has them. */
const PROTO: Readonly<Record<DType, readonly [name: string, field: string]>> = {
  bool: ["DT_BOOL", "bool_val"],
  uint8: ["DT_UINT8", "int_val"],
  uint16: ["DT_UINT16", "int_val"],
  uint32: ["DT_UINT32", "uint32_val"],
  uint64: ["DT_UINT64", "uint64_val"],
  int8: ["DT_INT8", "int_val"],
  int16: ["DT_INT16", "int_val"],
  int32: ["DT_INT32", "int_val"],
  int64: ["DT_INT64", "int64_val"],
  float16: ["DT_HALF", "half_val"],
  bfloat16: ["DT_BFLOAT16", "half_val"],
  float32: ["DT_FLOAT", "float_val"],
  float64: ["DT_DOUBLE", "double_val"],
  complex64: ["DT_COMPLEX64", "scomplex_val"],
  complex128: ["DT_COMPLEX128", "dcomplex_val"],
  bytes: ["DT_STRING", "string_val"],
};

/** Every field of a TensorProto that may hold values, empty. */
const NO_VALUES = {
  ...Object.fromEntries(DTYPES.map((dtype) => [PROTO[dtype][1], []])),
  tensor_content: Buffer.alloc(0),
};

/** The TensorProto, as protobufjs shows it, with the values in the field of their type. */
export function typedProto(tensor: Tensor): Record<string, unknown> {
  const [, field] = PROTO[tensor.dtype];
  return { ...head(tensor), [field]: values(tensor) };
}

/** The TensorProto with the values in tensor_content. */
export function contentProto(tensor: Tensor): Record<string, unknown> {
  const content = tensor.dtype === "bytes" ? stringList(tensor.data) : toBytes(tensor.data);
  return { ...head(tensor), tensor_content: Buffer.from(content) };
}

function head({ dtype, shape }: Tensor) {
  const dim = shape.map((size) => ({ size: String(size), name: "" }));
  return { ...NO_VALUES, dtype: PROTO[dtype][0], tensor_shape: { dim, unknown_rank: false }, version_number: 0 };
}

function values(tensor: Tensor): unknown[] {
  if (tensor.dtype === "bytes") return tensor.data.map((element) => Buffer.from(element));
  const numbers = Array.from(tensor.data as Iterable<number | bigint>);
  if (tensor.dtype === "bool") return numbers.map(Boolean);
  return tensor.dtype === "int64" || tensor.dtype === "uint64" ? numbers.map(String) : numbers;
}

/** Texts shorter than 128 bytes, so that each length is one byte. */
function stringList(elements: readonly Uint8Array[]): Buffer {
  return Buffer.concat([Buffer.from(elements.map((element) => element.length)), ...elements]);
}

/** A tensor's dtype, shape and values in a form that toEqual can compare: bytes by content, NaN equal to NaN. */
export function comparable({ dtype, shape, data }: Tensor) {
  const list =
    dtype === "bytes" ? data.map((element) => Buffer.from(element)) : Array.from(data as Iterable<number | bigint>);
  return { dtype, shape: [...shape], data: list };
}
