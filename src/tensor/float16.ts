import type { DType } from "./dtype.ts";

const float32 = new Float32Array(1);
const bits32 = new Uint32Array(float32.buffer);

/** The exact number of a half-precision bit pattern. */
export function fromFloat16(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The half-precision bit pattern nearest to a number, ties to even; beyond 65504 it is infinity. */
export function toFloat16(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (magnitude >= 65520) return sign | 0x7c00;
  if (magnitude < 2 ** -14) return sign | roundToEven(magnitude * 2 ** 24);
  const exponent = Math.floor(Math.log2(magnitude));
  // log2 may round up at the edge of a power of two; the fraction then is below 1 and the carry below mends it.
  const scaled = roundToEven(magnitude * 2 ** (10 - exponent));
  return sign | (((exponent + 15) << 10) + (scaled - 1024));
}

/** The exact number of a bfloat16 bit pattern. */
export function fromBfloat16(bits: number): number {
  bits32[0] = bits << 16;
  return float32[0]!;
}

/** The bfloat16 bit pattern nearest to a number, ties to even; beyond 3.39e38 it is infinity. */
export function toBfloat16(value: number): number {
  if (Number.isNaN(value)) return 0x7fc0;
  const bits = toOddFloat32(value);
  const rounding = 0x7fff + ((bits >>> 16) & 1);
  return (bits + rounding) >>> 16;
}

/** Bit patterns from numbers, for the dtypes that are kept as such. */
export const HALF_CONVERSIONS: Partial<Record<DType, (value: number) => number>> = {
  float16: toFloat16,
  bfloat16: toBfloat16,
};

/**
 * The float32 bit pattern just below a magnitude, its last bit set if the number lies between two: rounded to the
 * nearest, it could become a tie of bfloat16 that the number is not.
 */
function toOddFloat32(value: number): number {
  float32[0] = value;
  const bits = bits32[0]!;
  const rounded = float32[0]!;
  if (rounded === value) return bits;
  return (Math.abs(rounded) > Math.abs(value) ? bits - 1 : bits) | 1;
}

function roundToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest > 0.5 || (rest === 0.5 && floor % 2 === 1)) return floor + 1;
  return floor;
}

/** Half a step beyond the largest number, from where on rounding to the nearest gives infinity. */
const OVERFLOWS: Partial<Record<DType, number>> = {
  float16: 2 ** 16 - 2 ** 4,
  bfloat16: 2 ** 128 - 2 ** 119,
  float32: 2 ** 128 - 2 ** 103,
};

/**
 * The magnitude from which on a float dtype makes numbers infinite; infinity for float64, and for the dtypes that are
 * no floats.
 */
export function overflowOf(dtype: DType): number {
  return OVERFLOWS[dtype] ?? Number.POSITIVE_INFINITY;
}

/** Checks that a number is finite, and a dtype with this {@link overflowOf} would make it infinite. */
export function overflows(value: number, overflow: number): boolean {
  return Math.abs(value) >= overflow && Number.isFinite(value);
}

/** The function that makes a number an element of a float dtype; undefined for a finite one that would be infinite. */
export function floatWriter(dtype: DType): (value: number) => number | undefined {
  const overflow = overflowOf(dtype);
  const toElement = HALF_CONVERSIONS[dtype] ?? Number;
  return (value) => (overflows(value, overflow) ? undefined : toElement(value));
}
