import type { InferRequest } from "../pipeline/infer-request.ts";

/** The kind of a request, by its inputs: requests with other inputs are often for another model. */
export function kindOfRequest({ signature, inputs }: InferRequest): string {
  return inputs.kind === "json" ? "json" : JSON.stringify([signature.name, ...Object.keys(inputs.tensors)]);
}
