import type { LooseSpec, Signature, TensorSpec } from "./signature.ts";

/** An input of which at least the name is known. */
export type KnownInput = LooseSpec & Partial<TensorSpec>;

/**
 * The inputs of a signature as far as they are known, for people: as they are checked, as clients may send them, or
 * their names alone; undefined = any.
 */
export function knownInputs({ inputs, suggestedInputs, inputNames }: Signature): readonly KnownInput[] | undefined {
  return inputs ?? suggestedInputs ?? inputNames?.map((name) => ({ name }));
}
