import type { ExampleInput } from "./example-inputs.ts";
import type { Dimension, TensorSpec } from "./signature.ts";

/** Example inputs of the shapes that a signature has, with the smallest size above 0 where it leaves one open. */
export function guessExamples(specs: readonly TensorSpec[]): readonly ExampleInput[] {
  return specs.map(({ name, dtype, shape = [] }) => {
    const sizes = shape.map(toSize);
    return { name, dtype, shape: sizes, element: dtype === "bytes" ? Buffer.from("a") : 1 };
  });
}

function toSize(size: Dimension): number {
  if (typeof size === "object") return Math.max(1, size.min);
  return size < 0 ? 1 : size;
}
