import { invalidArgument } from "../errors.ts";
import { DATA_TYPES } from "../tensor/data-types.ts";
import type { DType } from "../tensor/dtype.ts";

/** A difference that counts as none: up to `atol` plus `rtol` times the recorded value. */
export interface Tolerance {
  readonly rtol: number;
  readonly atol: number;
}

/** Tolerances by dtype; a dtype that is not there has to be equal. */
export type Tolerances = ReadonlyMap<DType, Tolerance>;

/** Room for another order of the same additions, by the digits that a dtype has. */
const DEFAULTS: readonly (readonly [DType, Tolerance])[] = [
  ["float16", { rtol: 1e-2, atol: 1e-3 }],
  ["bfloat16", { rtol: 5e-2, atol: 1e-2 }],
  ["float32", { rtol: 1e-4, atol: 1e-5 }],
  ["float64", { rtol: 1e-7, atol: 1e-9 }],
  ["complex64", { rtol: 1e-4, atol: 1e-5 }],
  ["complex128", { rtol: 1e-7, atol: 1e-9 }],
];

const NUMBERS: readonly unknown[] = DATA_TYPES.map(([, , dtype]) => dtype).filter(
  (dtype) => dtype !== "bytes" && dtype !== "bool",
);
const NUMBER = String.raw`\d*\.?\d+(?:e[+-]?\d+)?`;
const FORM = new RegExp(`^(?:([a-z]+\\d*)=)?(${NUMBER})(?:,(${NUMBER}))?$`, "i");

/**
 * Tolerances as users write them, `[DTYPE=]RTOL[,ATOL]`: without a dtype for all floats, without ATOL as large as RTOL.
 * Throws `invalid_argument` for any other text.
 */
export function parseTolerances(texts: readonly string[]): Tolerances {
  const tolerances = new Map(DEFAULTS);
  for (const text of texts) {
    const [, dtype, rtol, atol = rtol] = FORM.exec(text) ?? [];
    const isKnown = dtype === undefined || NUMBERS.includes(dtype);
    if (rtol === undefined || !isKnown)
      throw invalidArgument(
        `--tolerance is "${text}"; expected [DTYPE=]RTOL[,ATOL], such as 1e-3, float32=1e-3 or int8=0,1.`,
      );
    const tolerance = { rtol: Number(rtol), atol: Number(atol) };
    const dtypes = dtype === undefined ? DEFAULTS.map(([each]) => each) : [dtype as DType];
    for (const each of dtypes) tolerances.set(each, tolerance);
  }
  return tolerances;
}
