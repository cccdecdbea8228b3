import type { Dimension, LooseSpec } from "../../signature/signature.ts";
import { FIRM_SPACE } from "./wrapped-table.ts";

/** Features of one input that are named. */
const MOST_FEATURES = 8;

/** Inputs and outputs of a model or stage; undefined = any. */
export interface Flow {
  readonly inputs: readonly LooseSpec[] | undefined;
  readonly outputs: readonly LooseSpec[] | undefined;
}

/** `x float32[?,64] → y float32[?]`. */
export function flowText({ inputs, outputs }: Flow): string {
  return `${sideText(inputs)} → ${sideText(outputs)}`;
}

function sideText(specs: readonly LooseSpec[] | undefined): string {
  return specs === undefined ? "any" : specs.map(specText).join(", ");
}

/** `input_1 float32[?,64,64,1]`, any where the dtype is not known, with a space at which no line is broken. */
function specText({ name, dtype, shape, features }: LooseSpec): string {
  const sizes = shape === undefined ? "" : `[${shape.map(dimensionText).join()}]`;
  return `${name}${FIRM_SPACE}${dtype ?? "any"}${sizes}${features === undefined ? "" : featuresText(features)}`;
}

/** ` (width, height, 28 more)`. */
function featuresText(features: readonly string[]): string {
  const rest = features.length - MOST_FEATURES;
  return ` (${[...features.slice(0, MOST_FEATURES), ...(rest > 0 ? [`${rest} more`] : [])].join(", ")})`;
}

function dimensionText(dimension: Dimension): string {
  if (typeof dimension === "object") return `${dimension.min}..${dimension.max}`;
  return dimension === -1 ? "?" : String(dimension);
}
