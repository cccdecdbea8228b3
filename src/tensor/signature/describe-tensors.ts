import { type DType, integerRange } from "../dtype.ts";
import type { Dimension, LooseSpec, Signature, TensorSpec } from "./signature.ts";

/** The names of the classes of outputs, by the output. */
export type OutputLabels = ReadonlyMap<string, readonly string[]>;

/** Facts about tensors, by their names, which count before those that a model tells itself. */
export interface TensorFacts {
  readonly labels?: OutputLabels;
  /** Layouts of the inputs that are images. */
  readonly layouts?: ReadonlyMap<string, "NHWC" | "NCHW">;
  /** Shapes of inputs, whose sizes count if the model's are open. */
  readonly inputShapes?: Shapes;
  /** Such shapes of outputs. */
  readonly outputShapes?: Shapes;
}

type Shapes = ReadonlyMap<string, readonly Dimension[]>;

type Signatures = Readonly<Record<string, Signature>>;

/** Creates a function that adds these facts to signatures. It returns the same object for the same signatures. */
export function describeTensors(facts: TensorFacts = {}): (signatures: Signatures) => Signatures {
  const { labels, layouts, inputShapes, outputShapes } = facts;
  if (Object.values(facts).every((map) => !map?.size)) return (signatures) => signatures;
  const known = new WeakMap<Signatures, Signatures>();
  const describe = ({ inputs, outputs, ...rest }: Signature): Signature => ({
    ...rest,
    ...(inputs && { inputs: inputs.map((spec) => withFact(withShape(spec, inputShapes), "imageLayout", layouts)) }),
    ...(outputs && { outputs: outputs.map((spec) => withFact(withShape(spec, outputShapes), "labels", labels)) }),
  });
  return (signatures) => {
    const entries = () => Object.entries(signatures).map(([name, signature]) => [name, describe(signature)]);
    const described = known.get(signatures) ?? (Object.fromEntries(entries()) as Signatures);
    known.set(signatures, described);
    return described;
  };
}

function withShape(spec: TensorSpec, shapes: Shapes | undefined): TensorSpec {
  const known = shapes?.get(spec.name);
  if (known === undefined) return spec;
  const { shape = known } = spec;
  return { ...spec, shape: shape.map((size, axis) => (size === -1 ? (known[axis] ?? size) : size)) };
}

function withFact<Key extends "imageLayout" | "labels">(
  spec: TensorSpec,
  key: Key,
  facts: ReadonlyMap<string, TensorSpec[Key]> | undefined,
): TensorSpec {
  const fact = facts?.get(spec.name);
  return fact === undefined ? spec : { ...spec, [key]: fact };
}

/** The signatures with names of classes at every output of floats that has as many columns, or any number of them. */
export function labelClasses(signatures: Signatures, labels: readonly string[]): Signatures {
  const withOwn = (spec: TensorSpec) => (hasClasses(spec, labels.length) ? { ...spec, labels } : spec);
  const entries = Object.entries(signatures).map(([name, { outputs, ...rest }]) => {
    return [name, { ...rest, ...(outputs && { outputs: outputs.map(withOwn) }) }] as const;
  });
  return Object.fromEntries(entries);
}

/** The signatures with the example's values at the inputs of their names, where these hold them. */
export function exemplify(signatures: Signatures, example: ReadonlyMap<string, string | number>): Signatures {
  const withOwn = <Spec extends LooseSpec>(spec: Spec) => {
    const value = example.get(spec.name);
    return value !== undefined && holds(spec.dtype, value) ? { ...spec, example: value } : spec;
  };
  const entries = Object.entries(signatures).map(([name, { inputs, suggestedInputs, ...rest }]) => {
    const suggested = suggestedInputs && { suggestedInputs: suggestedInputs.map(withOwn) };
    return [name, { ...rest, ...(inputs && { inputs: inputs.map(withOwn) }), ...suggested }] as const;
  });
  return Object.fromEntries(entries);
}

function holds(dtype: DType | undefined, value: string | number): boolean {
  if (dtype === undefined) return true;
  if (typeof value === "string" || dtype === "bytes") return typeof value === "string" && dtype === "bytes";
  if (dtype === "bool") return value === 0 || value === 1;
  const range = integerRange(dtype);
  if (range === undefined) return true;
  // Larger integers are not exact in JSON.
  return Number.isSafeInteger(value) && value >= range[0] && value < range[1];
}

function hasClasses({ dtype, shape = [] }: TensorSpec, count: number): boolean {
  const columns = shape.at(-1);
  const isOpen = columns === -1 && shape.length === 2;
  return dtype.includes("float") && (columns === count || isOpen);
}
