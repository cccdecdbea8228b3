import type { InferResponse } from "../../serving/inference-service.ts";

/** Characters that a header carries as they are. */
const PLAIN = /^[\x21-\x7e]*$/;

/** The headers of an answer: those that hooks set, and which version of which model answered (ours; the original does not tell). */
export function versionHeaders({ model, version, metadata }: InferResponse): Readonly<Record<string, string>> {
  const name = PLAIN.test(model) ? model : encodeURIComponent(model);
  return { "x-model-name": name, "x-model-version": String(version), ...metadata };
}
