import type { Signature, TensorSpec } from "./signature.ts";

/** The names of the classes of outputs, by the output. */
export type OutputLabels = ReadonlyMap<string, readonly string[]>;

type Signatures = Readonly<Record<string, Signature>>;

/**
 * Creates a function that names the classes of outputs which have no names yet. It returns the same object for the same
 * signatures.
 */
export function labelOutputs(labels: OutputLabels = new Map()): (signatures: Signatures) => Signatures {
  if (labels.size === 0) return (signatures) => signatures;
  const known = new WeakMap<Signatures, Signatures>();
  return (signatures) => {
    const labelled = known.get(signatures) ?? withLabels(signatures, labels);
    known.set(signatures, labelled);
    return labelled;
  };
}

function withLabels(signatures: Signatures, labels: OutputLabels): Signatures {
  const label = (spec: TensorSpec): TensorSpec => {
    const own = spec.labels ?? labels.get(spec.name);
    return own === undefined ? spec : { ...spec, labels: own };
  };
  const entries = Object.entries(signatures).map(([name, signature]) => {
    const { outputs } = signature;
    return [name, outputs === undefined ? signature : { ...signature, outputs: outputs.map(label) }] as const;
  });
  return Object.fromEntries(entries);
}
