import { toDType, withoutReference } from "./data-type.ts";
import type { BoundTensor, ModelSignature } from "./model-signatures.ts";

/** TensorFlow's number of the type that a graph gives a tensor; undefined where it does not say. */
export type TypeOfTensor = (nativeName: string) => number | undefined;

/**
 * Signatures whose inputs have the types of the graph. An exporter may declare another one, which nothing checks:
 * TensorFlow Serving's own test model half_plus_three declares floats for serialised tf.Examples.
 */
export function withGraphTypes(
  signatures: Readonly<Record<string, ModelSignature>>,
  typeOf: TypeOfTensor,
): Readonly<Record<string, ModelSignature>> {
  const corrected = Object.entries(signatures).map(([name, signature]) => {
    const inputs = signature.inputs.map((input) => withGraphType(input, typeOf(input.nativeName)));
    return [name, { ...signature, inputs }] as const;
  });
  return Object.fromEntries(corrected);
}

function withGraphType(input: BoundTensor, type: number | undefined): BoundTensor {
  const dataType = type === undefined ? undefined : withoutReference(type);
  const dtype = dataType === undefined ? undefined : toDType(dataType);
  if (dataType === undefined || dtype === undefined || dtype === input.dtype) return input;
  return { ...input, dtype, dataType, declaredDType: input.dtype };
}
