import type { PageTensor } from "../protocols/page/page-data.ts";
import { countOf } from "./form-tensor.ts";

/** An example of an input, as the server has found it. */
export interface ExampleInput {
  readonly name: string;
  readonly shape: readonly number[];
  /** A number, or a text. */
  readonly element: number | string;
}

/** Up to so many elements are written out, for people to change. */
const MAX_WRITTEN = 24;

/** The first texts of an input's fields: values with which a model probably runs. */
export function exampleField(
  { datatype, shape: declared = [1] }: PageTensor,
  found: ExampleInput | undefined,
): { readonly shape: string; readonly values: string } {
  const shape = found?.shape ?? declared.map((size) => (size < 0 ? 1 : size));
  const element = found?.element ?? (datatype === "BYTES" ? "text" : 0);
  if (datatype === "BYTES") return { shape: shape.join(", "), values: String(element) };
  const value = datatype === "BOOL" ? element === 1 : element;
  if (countOf(shape) > MAX_WRITTEN) return { shape: shape.join(", "), values: JSON.stringify(value) };
  const nested = shape.reduceRight<unknown>((inner, size) => new Array(size).fill(inner), value);
  return { shape: shape.join(", "), values: JSON.stringify(nested) };
}
