import type { PipelineRequest } from "../pipeline/pipeline-request.ts";

const kinds = new WeakMap<PipelineRequest, string>();

/** The kind of a request, by its inputs: requests with other inputs are often for another model. */
export function kindOfRequest(request: PipelineRequest): string {
  let kind = kinds.get(request);
  if (kind === undefined) {
    const { info, inputs } = request;
    kind = inputs.kind === "json" ? "json" : JSON.stringify([info.signature, ...Object.keys(inputs.tensors)]);
    kinds.set(request, kind);
  }
  return kind;
}
