import type { DType } from "./dtype.ts";

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
export function integerRange(dtype: DType): IntegerRange | undefined {
  return INTEGER_RANGES[dtype];
}

function unsigned(bits: number): IntegerRange {
  return [0, 2 ** bits];
}

function signed(bits: number): IntegerRange {
  return [-(2 ** (bits - 1)), 2 ** (bits - 1)];
}
