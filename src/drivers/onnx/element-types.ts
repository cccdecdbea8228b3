import { WIRE, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";
import { type DType, type NumericDType, numericLayout } from "../../tensor/dtype.ts";
import { createTensor, elementCount, type Tensor, viewBytes } from "../../tensor/tensor.ts";

/** Types of ONNX's tensors by number, with their bits; texts have no fixed size. */
export const ONNX_TYPES: readonly (readonly [name: string, bits: number])[] = [
  ["undefined", 0],
  ["float32", 32],
  ["uint8", 8],
  ["int8", 8],
  ["uint16", 16],
  ["int16", 16],
  ["int32", 32],
  ["int64", 64],
  ["string", 0],
  ["bool", 8],
  ["float16", 16],
  ["float64", 64],
  ["uint32", 32],
  ["uint64", 64],
  ["complex64", 64],
  ["complex128", 128],
  ["bfloat16", 16],
  ["float8e4m3fn", 8],
  ["float8e4m3fnuz", 8],
  ["float8e5m2", 8],
  ["float8e5m2fnuz", 8],
  ["uint4", 4],
  ["int4", 4],
  ["float4e2m1", 4],
  ["float8e8m0", 8],
];

/** Our dtype by ONNX's name of a type, for those whose elements ONNX Runtime takes and gives. */
const DTYPES: Readonly<Record<string, DType>> = {
  bool: "bool",
  uint8: "uint8",
  uint16: "uint16",
  uint32: "uint32",
  uint64: "uint64",
  int8: "int8",
  int16: "int16",
  int32: "int32",
  int64: "int64",
  float16: "float16",
  bfloat16: "bfloat16",
  float32: "float32",
  float64: "float64",
  string: "bytes",
};

const CODES = new Map(Object.entries(DTYPES).map(([type, dtype]) => [dtype, elementCode(type)]));

/** Our dtype for ONNX's type; undefined for one that we do not carry. */
export function toDType(type: string): DType | undefined {
  return Object.hasOwn(DTYPES, type) ? DTYPES[type] : undefined;
}

/** The number of a dtype's type in ONNX; 0 for one that ONNX Runtime does not take. */
export function codeOf(dtype: DType): number {
  return CODES.get(dtype) ?? 0;
}

/** ONNX's name of a type by its number. */
export function typeOf(code: number): string {
  return ONNX_TYPES[code]?.[0] ?? `of element type ${code}`;
}

function elementCode(type: string): number {
  return ONNX_TYPES.findIndex(([name]) => name === type);
}

// Field numbers of TensorProto: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
const TENSOR_FIELDS = {
  dims: 1,
  type: 2,
  floats: 4,
  narrow: 5,
  strings: 6,
  wide: 7,
  raw: 9,
  doubles: 10,
  unsigned: 11,
};
const LOCATION = 14;
const INTEGER_FIELDS: readonly number[] = [TENSOR_FIELDS.narrow, TENSOR_FIELDS.wide, TENSOR_FIELDS.unsigned];

/** Parts of a TensorProto. */
interface Parts {
  dtype: DType | undefined;
  readonly shape: number[];
  readonly integers: bigint[];
  readonly strings: Uint8Array[];
  /** Values as little-endian bytes. */
  bytes: Uint8Array | undefined;
  isElsewhere: boolean;
}

/** The value of an initializer by its TensorProto; undefined if it lies in another file, or is not carried. */
export function readInitializer(proto: Uint8Array): Tensor | undefined {
  const { dtype, shape, integers, strings, bytes, isElsewhere } = readParts(new WireReader(proto, "TensorProto"));
  if (dtype === undefined || isElsewhere) return undefined;
  const count = elementCount(shape);
  if (dtype === "bytes") return strings.length === count ? createTensor(dtype, shape, strings) : undefined;
  if (bytes !== undefined && bytes.length !== count * numericLayout(dtype).bytes) return undefined;
  const data = bytes === undefined ? toNumbers(dtype, integers) : viewBytes(dtype, Uint8Array.from(bytes));
  return data.length === count ? createTensor(dtype, shape, data as never) : undefined;
}

function readParts(reader: WireReader): Parts {
  const parts: Parts = { dtype: undefined, shape: [], integers: [], strings: [], bytes: undefined, isElsewhere: false };
  while (reader.hasMore()) {
    const tag = reader.tag();
    const number = tag >>> 3;
    if (number === TENSOR_FIELDS.dims) parts.shape.push(...readIntegers(reader, tag).map(Number));
    else if (number === TENSOR_FIELDS.type) parts.dtype = toDType(typeOf(reader.integer()));
    else if (number === LOCATION) parts.isElsewhere = reader.integer() !== 0;
    else if (INTEGER_FIELDS.includes(number)) parts.integers.push(...readIntegers(reader, tag));
    else if (number === TENSOR_FIELDS.strings) parts.strings.push(reader.bytes());
    else if (
      number === TENSOR_FIELDS.raw ||
      ((number === TENSOR_FIELDS.floats || number === TENSOR_FIELDS.doubles) && isPacked(tag))
    )
      parts.bytes = reader.bytes();
    else reader.skip(tag);
  }
  return parts;
}

function isPacked(tag: number): boolean {
  return (tag & 7) === WIRE.bytes;
}

/** One integer, or several, packed. */
function readIntegers(reader: WireReader, tag: number): bigint[] {
  if (!isPacked(tag)) return [reader.int64()];
  const packed = reader.nested("TensorProto");
  const integers: bigint[] = [];
  while (packed.hasMore()) integers.push(packed.int64());
  return integers;
}

/** Integers of any width, and the bits of 16-bit floats. */
function toNumbers(dtype: NumericDType, integers: readonly bigint[]) {
  const { array } = numericLayout(dtype);
  const values = new array(integers.length);
  const isWide = values instanceof BigInt64Array || values instanceof BigUint64Array;
  for (const [index, integer] of integers.entries()) values[index] = isWide ? integer : Number(integer);
  return values;
}
