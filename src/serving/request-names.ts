import type { Payload } from "../pipeline/payload.ts";
import { type ChosenSignature, renamed, renamedTensors, type UsedNames } from "../tensor/signature/choose-signature.ts";
import type { Signature } from "../tensor/signature/signature.ts";
import type { InferRequest } from "./inference-service.ts";

type Named = Pick<InferRequest, "inputs" | "outputs">;

/** The names of inputs and outputs that a request uses; none of a JSON text, which is not parsed yet. */
export function usedNames({ inputs, outputs }: Named): UsedNames {
  return { inputs: inputs.kind === "tensors" ? Object.keys(inputs.tensors) : [], outputs };
}

/** Translation between the names of a request and those of the model's signature. */
export interface RequestNames {
  /** The request under the signature's names. */
  toDeclared(request: Named): Named;
  /** The answer under the request's names. */
  toAsked(outputs: Payload): Payload;
}

/** Undefined if a request's signature is the model's own, as nearly always. */
export function requestNames(
  { name, spec }: ChosenSignature,
  signatures: Readonly<Record<string, Signature>>,
): RequestNames | undefined {
  const own = signatures[name];
  if (spec === own || spec === undefined || own === undefined) return undefined;
  return {
    toDeclared: ({ inputs, outputs }) => ({
      inputs: underNames(inputs, spec.inputs, own.inputs),
      outputs: outputs?.map((output) => renamed(output, spec.outputs, own.outputs)),
    }),
    toAsked: (outputs) => underNames(outputs, own.outputs, spec.outputs),
  };
}

function underNames(payload: Payload, from: Signature["inputs"], to: Signature["inputs"]): Payload {
  if (payload.kind === "json") return payload;
  return { kind: "tensors", tensors: renamedTensors(payload.tensors, from, to) };
}
