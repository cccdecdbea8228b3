import type { DType } from "../../tensor/dtype.ts";

/**
 * Replacement of NaN and infinities in strict JSON: null for each; or null for NaN,
 * and for an infinity the largest value of its dtype.
 */
export type NonFiniteRule = "null" | "largest";

const LARGEST: Partial<Record<DType, string>> = {
  float16: "65504.0",
  bfloat16: "3.3895314e+38",
  float32: "3.40282347e+38",
  float64: "1.7976931348623157e+308",
};

/** The text of NaN or an infinity of a dtype. */
export function nonFiniteText(value: number, dtype: DType, rule: NonFiniteRule): string {
  if (Number.isNaN(value) || rule === "null") return "null";
  return `${value < 0 ? "-" : ""}${LARGEST[dtype]}`;
}
