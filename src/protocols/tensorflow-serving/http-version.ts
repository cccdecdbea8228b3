import type { InferResponse } from "../../serving/inference-service.ts";

/** Characters that a header may contain. */
const PLAIN = /^[\x21-\x7e]*$/;

/**
 * The headers of an answer: those that hooks set, and the answering model and version (an addition to the original).
 */
export function versionHeaders({ model, version, metadata }: InferResponse): Readonly<Record<string, string>> {
  const name = PLAIN.test(model) ? model : encodeURIComponent(model);
  return { "x-model-name": name, "x-model-version": String(version), ...metadata };
}
