import { WIRE, WireReader } from "../../codecs/protobuf/wire-reader.ts";
import { type DType, type NumericDType, numericLayout } from "../../tensor/dtype.ts";
import { createTensor, elementCount, type Tensor, viewBytes } from "../../tensor/tensor.ts";
import { toDType, typeOf } from "./element-types.ts";

// Field numbers of TensorProto: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
const TENSOR = { dims: 1, type: 2, floats: 4, narrow: 5, strings: 6, wide: 7, raw: 9, doubles: 10, unsigned: 11 };
const LOCATION = 14;
const INTEGERS: readonly number[] = [TENSOR.narrow, TENSOR.wide, TENSOR.unsigned];

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

/** The value of an initializer by its TensorProto; undefined where it lies in another file, or is not carried. */
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
    if (number === TENSOR.dims) parts.shape.push(...readIntegers(reader, tag).map(Number));
    else if (number === TENSOR.type) parts.dtype = toDType(typeOf(reader.integer()));
    else if (number === LOCATION) parts.isElsewhere = reader.integer() !== 0;
    else if (INTEGERS.includes(number)) parts.integers.push(...readIntegers(reader, tag));
    else if (number === TENSOR.strings) parts.strings.push(reader.bytes());
    else if (number === TENSOR.raw || ((number === TENSOR.floats || number === TENSOR.doubles) && isPacked(tag)))
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
