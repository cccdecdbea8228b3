import type { DType } from "./dtype.ts";
import { HALF_CONVERSIONS } from "./float16.ts";

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
