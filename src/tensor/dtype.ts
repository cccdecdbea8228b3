/** The typed array that carries each numeric dtype; `bytes` has one Uint8Array per element instead. */
interface DataByDType {
  bool: Uint8Array;
  uint8: Uint8Array;
  uint16: Uint16Array;
  uint32: Uint32Array;
  uint64: BigUint64Array;
  int8: Int8Array;
  int16: Int16Array;
  int32: Int32Array;
  int64: BigInt64Array;
  float16: Uint16Array;
  bfloat16: Uint16Array;
  float32: Float32Array;
  float64: Float64Array;
  complex64: Float32Array;
  complex128: Float64Array;
  bytes: readonly Uint8Array[];
}

/** An element type, by numpy's name; `bytes` holds binary strings and text. */
export type DType = keyof DataByDType;
/** Every dtype whose elements have a fixed width. */
export type NumericDType = Exclude<DType, "bytes">;
/** Data of a tensor of dtype D. Complex numbers take two consecutive slots: real, imaginary. */
export type TensorData<D extends DType = DType> = DataByDType[D];
/** A typed array that carries a numeric tensor. */
export type NumericData = TensorData<NumericDType>;

interface NumericLayout {
  /** Bytes of one element; a complex element counts both parts. */
  readonly bytes: number;
  /** Slots of the typed array that one element takes: 2 for complex, else 1. */
  readonly slots: 1 | 2;
  readonly array: NumericArrayConstructor;
}

interface NumericArrayConstructor {
  readonly name: string;
  readonly BYTES_PER_ELEMENT: number;
  new (length: number): NumericData;
  new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): NumericData;
}

const LAYOUTS: Readonly<Record<NumericDType, NumericLayout>> = {
  bool: { bytes: 1, slots: 1, array: Uint8Array },
  uint8: { bytes: 1, slots: 1, array: Uint8Array },
  uint16: { bytes: 2, slots: 1, array: Uint16Array },
  uint32: { bytes: 4, slots: 1, array: Uint32Array },
  uint64: { bytes: 8, slots: 1, array: BigUint64Array },
  int8: { bytes: 1, slots: 1, array: Int8Array },
  int16: { bytes: 2, slots: 1, array: Int16Array },
  int32: { bytes: 4, slots: 1, array: Int32Array },
  int64: { bytes: 8, slots: 1, array: BigInt64Array },
  float16: { bytes: 2, slots: 1, array: Uint16Array },
  bfloat16: { bytes: 2, slots: 1, array: Uint16Array },
  float32: { bytes: 4, slots: 1, array: Float32Array },
  float64: { bytes: 8, slots: 1, array: Float64Array },
  complex64: { bytes: 8, slots: 2, array: Float32Array },
  complex128: { bytes: 16, slots: 2, array: Float64Array },
};

/** All dtype names, numeric first. */
export const DTYPES: readonly DType[] = [...(Object.keys(LAYOUTS) as NumericDType[]), "bytes"];

/** Checks that a text is a dtype's name. */
export function isDType(name: string): name is DType {
  return name === "bytes" || Object.hasOwn(LAYOUTS, name);
}

/** Width, slots and array type of a numeric dtype. */
export function numericLayout(dtype: NumericDType): NumericLayout {
  return LAYOUTS[dtype];
}

/**
 * The integers that a dtype holds; the end is the first beyond, which unlike the last
 * is a number exactly, for 64 bits too.
 */
export type IntegerRange = readonly [first: number, end: number];

const INTEGER_RANGES: Partial<Record<DType, IntegerRange>> = {
  uint8: unsigned(8),
  uint16: unsigned(16),
  uint32: unsigned(32),
  uint64: unsigned(64),
  int8: signed(8),
  int16: signed(16),
  int32: signed(32),
  int64: signed(64),
};

/** The range of an integer dtype; undefined for any other. */
export function integerRange(dtype: Extract<DType, `${"u" | ""}int${number}`>): IntegerRange;
export function integerRange(dtype: DType): IntegerRange | undefined;
export function integerRange(dtype: DType): IntegerRange | undefined {
  return INTEGER_RANGES[dtype];
}

function unsigned(bits: number): IntegerRange {
  return [0, 2 ** bits];
}

function signed(bits: number): IntegerRange {
  return [-(2 ** (bits - 1)), 2 ** (bits - 1)];
}
