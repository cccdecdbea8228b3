import type { Signature, TensorSpec } from "./signature.ts";

type Signatures = Readonly<Record<string, Signature>>;

/** The signatures with names of classes at every output of floats that has as many columns, or any number of them. */
export function labelClasses(signatures: Signatures, labels: readonly string[]): Signatures {
  const withOwn = (spec: TensorSpec) => (hasClasses(spec, labels.length) ? { ...spec, labels } : spec);
  const entries = Object.entries(signatures).map(([name, { outputs, ...rest }]) => {
    return [name, { ...rest, ...(outputs && { outputs: outputs.map(withOwn) }) }] as const;
  });
  return Object.fromEntries(entries);
}

function hasClasses({ dtype, shape = [] }: TensorSpec, count: number): boolean {
  const columns = shape.at(-1);
  const isOpen = columns === -1 && shape.length === 2;
  return dtype.includes("float") && (columns === count || isOpen);
}
