import type { ExampleInput } from "../../tensor/signature/example-inputs.ts";

/**
 * A JSON value of an example's input; with `asCode` a JavaScript expression, which is short however large the value is.
 */
export function exampleValue({ shape, ...input }: ExampleInput, asCode: boolean): string {
  const repeat = asCode
    ? (inner: string, size: number) => `Array(${size}).fill(${inner})`
    : (inner: string, size: number) => `[${new Array(size).fill(inner).join()}]`;
  return shape.reduceRight(repeat, elementText(input));
}

/** Bytes other than text are written as TensorFlow Serving takes them. */
function elementText({ dtype, element }: Pick<ExampleInput, "dtype" | "element">): string {
  if (typeof element === "number") return dtype === "bool" ? String(element === 1) : String(element);
  const bytes = Buffer.from(element);
  const text = bytes.toString("latin1");
  return /^[\x20-\x7e]*$/.test(text) ? JSON.stringify(text) : JSON.stringify({ b64: bytes.toString("base64") });
}
