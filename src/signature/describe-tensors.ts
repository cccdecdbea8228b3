import type { Signature, TensorSpec } from "./signature.ts";

/** The names of the classes of outputs, by the output. */
export type OutputLabels = ReadonlyMap<string, readonly string[]>;

/** Facts about tensors, by their names, which count before those that a model tells itself. */
export interface TensorFacts {
  readonly labels?: OutputLabels;
  /** Layouts of the inputs that are images. */
  readonly layouts?: ReadonlyMap<string, "NHWC" | "NCHW">;
}

type Signatures = Readonly<Record<string, Signature>>;

/** Creates a function that adds these facts to signatures. It returns the same object for the same signatures. */
export function describeTensors({ labels, layouts }: TensorFacts = {}): (signatures: Signatures) => Signatures {
  if (!labels?.size && !layouts?.size) return (signatures) => signatures;
  const known = new WeakMap<Signatures, Signatures>();
  const describe = ({ inputs, outputs, ...rest }: Signature): Signature => ({
    ...rest,
    ...(inputs && { inputs: inputs.map((spec) => withFact(spec, "imageLayout", layouts)) }),
    ...(outputs && { outputs: outputs.map((spec) => withFact(spec, "labels", labels)) }),
  });
  return (signatures) => {
    const entries = () => Object.entries(signatures).map(([name, signature]) => [name, describe(signature)]);
    const described = known.get(signatures) ?? (Object.fromEntries(entries()) as Signatures);
    known.set(signatures, described);
    return described;
  };
}

function withFact<Key extends "imageLayout" | "labels">(
  spec: TensorSpec,
  key: Key,
  facts: ReadonlyMap<string, TensorSpec[Key]> | undefined,
): TensorSpec {
  const fact = facts?.get(spec.name);
  return fact === undefined ? spec : { ...spec, [key]: fact };
}
