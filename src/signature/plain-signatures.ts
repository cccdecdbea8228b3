import { createTensor } from "../tensor/tensor.ts";
import type { Signature, TensorSpec } from "./signature.ts";

/** Placeholder of a default, which may have many values. */
const SOME_DEFAULT = createTensor("uint8", [0], new Uint8Array(0));

/** The parts of signatures that decode a message, as plain data for another thread: no values, no labels. */
export function toPlainSignatures(
  signatures: Readonly<Record<string, Signature>>,
): Readonly<Record<string, Signature>> {
  return Object.fromEntries(Object.entries(signatures).map(([name, signature]) => [name, toPlainSignature(signature)]));
}

/** The same of one signature. */
export function toPlainSignature({ inputs, inputNames, suggestedInputs, isTabular, outputs }: Signature): Signature {
  return {
    ...(inputs && { inputs: inputs.map(toPlainSpec) }),
    ...(inputNames && { inputNames: [...inputNames] }),
    ...(suggestedInputs && { suggestedInputs: suggestedInputs.map((spec) => ({ ...spec })) }),
    ...(isTabular && { isTabular }),
    ...(outputs && { outputs: outputs.map(toPlainSpec) }),
  };
}

function toPlainSpec({ name, dtype, shape, nativeName, default: value }: TensorSpec): TensorSpec {
  const names = { name, ...(nativeName !== undefined && { nativeName }) };
  return { ...names, dtype, ...(shape && { shape: [...shape] }), ...(value && { default: SOME_DEFAULT }) };
}
