import type { PipelineRequest } from "../pipeline/pipeline-request.ts";

/** The kind of a request, by its inputs: requests with other inputs are often for another model. */
export function kindOfRequest({ info, inputs }: PipelineRequest): string {
  return inputs.kind === "json" ? "json" : JSON.stringify([info.signature, ...Object.keys(inputs.tensors)]);
}
