import type { Dimension, TensorSpec } from "../../signature/signature.ts";

/** The smallest shape that a spec allows; one element where it allows any. */
export function exampleShape({ shape = [1] }: TensorSpec): number[] {
  return shape.map(smallest);
}

/** A JSON value of a spec's smallest shape; with `asCode` a JavaScript expression, which is short however large the value is. */
export function exampleValue(spec: TensorSpec, asCode: boolean): string {
  const repeat = asCode
    ? (inner: string, size: number) => `Array(${size}).fill(${inner})`
    : (inner: string, size: number) => `[${new Array(size).fill(inner).join()}]`;
  return exampleShape(spec).reduceRight(repeat, exampleElement(spec));
}

function exampleElement({ dtype }: TensorSpec): string {
  if (dtype === "bytes") return '"text"';
  return dtype === "bool" ? "false" : "0";
}

function smallest(dimension: Dimension): number {
  if (typeof dimension === "object") return Math.max(dimension.min, 1);
  return dimension === -1 ? 1 : dimension;
}
