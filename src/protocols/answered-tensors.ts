import { ServingError } from "../errors.ts";
import type { InferResponse } from "../serving/inference-service.ts";
import type { Tensors } from "../tensor/tensor.ts";

/**
 * The tensors of an answer to a request with tensors; throws `internal` if the service answers with another kind.
 */
export function answeredTensors({ outputs }: Pick<InferResponse, "outputs">): Tensors {
  if (outputs.kind === "tensors") return outputs.tensors;
  throw new ServingError("internal", `The service answered a request for tensors with ${outputs.kind}.`);
}

/** The JSON of an answer to a request with JSON, likewise. */
export function answeredJson({ outputs }: Pick<InferResponse, "outputs">): Uint8Array {
  if (outputs.kind === "json") return outputs.json;
  throw new ServingError("internal", `The service answered a request for JSON with ${outputs.kind}.`);
}
