import type { ExampleInput } from "./example-inputs.ts";
import type { TensorSpec } from "./signature.ts";

/** Example inputs of the shapes that a signature has, with 1 for every size that it leaves open. */
export function guessExamples(specs: readonly TensorSpec[]): readonly ExampleInput[] {
  return specs.map(({ name, dtype, shape = [] }) => {
    const sizes = shape.map((size) => (typeof size === "number" && size >= 0 ? size : 1));
    return { name, dtype, shape: sizes, element: dtype === "bytes" ? Buffer.from("a") : 1 };
  });
}
