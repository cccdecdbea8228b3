import { failedPrecondition } from "../../errors.ts";
import { knownInputs } from "../../signature/known-inputs.ts";
import type { Dimension, Signature } from "../../signature/signature.ts";
import type { DType } from "../../tensor/dtype.ts";
import { plainJsonText } from "./plain-json-text.ts";

/** Size of an open dimension, as in the original. */
const OPEN_SIZE = 2;
/** Values of an example at most: a program with more is nothing that anybody reads. */
const MAX_VALUES = 1_000_000;

/**
 * JSON of an object with a value for each input of a signature: ones, true, or empty texts,
 * in every open dimension two of them. Its characters are those of {@link plainJsonText}.
 * Throws `failed_precondition` for inputs that are not known or too large.
 */
export function exampleData(signature: Signature): string {
  const specs = knownInputs(signature);
  if (specs === undefined) {
    throw failedPrecondition("The model does not say which inputs it takes, so that there is no example of a request.");
  }
  const shapes = specs.map(({ shape = [-1] }) => shape.map(toSize));
  // Lists without elements are written too.
  const values = shapes.reduce(
    (sum, shape) => sum + shape.reduce((product, size) => product * Math.max(size, 1), 1),
    0,
  );
  if (values > MAX_VALUES) {
    throw failedPrecondition(`An example of a request would have ${values} values; at most ${MAX_VALUES} are written.`);
  }
  const members = specs.map(
    ({ name, dtype }, index) => `${plainJsonText(name)}: ${nested(textOfOne(dtype), shapes[index] ?? [])}`,
  );
  return `{${members.join(", ")}}`;
}

function toSize(dimension: Dimension): number {
  if (typeof dimension !== "number") return Math.min(Math.max(OPEN_SIZE, dimension.min), dimension.max);
  return dimension < 0 ? OPEN_SIZE : dimension;
}

function textOfOne(dtype: DType | undefined): string {
  if (dtype === "bool") return "true";
  if (dtype === "bytes") return '""';
  return dtype !== undefined && /float/.test(dtype) ? "1.0" : "1";
}

function nested(value: string, shape: readonly number[]): string {
  return shape.reduceRight((inner, size) => `[${new Array<string>(size).fill(inner).join(", ")}]`, value);
}
