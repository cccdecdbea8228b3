import { createTensors, type Tensors } from "../tensor/tensor.ts";
import type { Signature, TensorSpec } from "./signature.ts";

/** Names of inputs and outputs in a request. */
export interface UsedNames {
  readonly inputs: readonly string[];
  /** Absent or empty = all. */
  readonly outputs?: readonly string[] | undefined;
}

/**
 * The signature with the runtime's own names where a request uses them, the same object where it uses none. Outputs
 * that a request does not name are called as its inputs are.
 */
export function underUsedNames(signature: Signature, used: UsedNames): Signature {
  const { inputs: declared, outputs: all } = signature;
  const inputs = declared && underNames(declared, used.inputs);
  const native = inputs === declared ? undefined : all?.flatMap(({ nativeName }) => nativeName ?? []);
  const wanted = used.outputs?.length ? used.outputs : native;
  const outputs = all && wanted && underNames(all, wanted);
  if (inputs === declared && (outputs === undefined || outputs === all)) return signature;
  return { ...signature, ...(inputs && { inputs }), ...(outputs && { outputs }) };
}

function underNames(specs: readonly TensorSpec[], names: readonly string[]): readonly TensorSpec[] {
  const unknown = names.filter((name) => !specs.some((spec) => spec.name === name));
  const first = unknown.map((name) => specs.findIndex(({ nativeName }) => nativeName === name));
  if (!first.some((place) => place >= 0)) return specs;
  return specs.map((spec, place) => (first.includes(place) ? { ...spec, name: spec.nativeName as string } : spec));
}

/** Tensors under the names that the same inputs or outputs have in other specs. */
export function renamedTensors(tensors: Tensors, from: readonly TensorSpec[] = [], to = from): Tensors {
  if (from === to) return tensors;
  return createTensors(Object.entries(tensors).map(([name, tensor]) => [renamed(name, from, to), tensor] as const));
}

/** The name that the same input or output has in other specs. */
export function renamed(name: string, from: readonly TensorSpec[] = [], to = from): string {
  return to[from.findIndex((spec) => spec.name === name)]?.name ?? name;
}
