import type { HttpAnswer } from "../../proxy/http-route.ts";
import type { InferResponse } from "../../serving/inference-service.ts";

/** Characters that a header may contain. */
const PLAIN = /^[\x21-\x7e]*$/;

/**
 * The headers of an answer: those that hooks set, and the answering model and version (an addition to the original).
 */
export function versionHeaders({
  model,
  version,
  metadata,
}: InferResponse): Pick<HttpAnswer, "headers" | "ownHeaders"> {
  const [name, number] = [PLAIN.test(model) ? model : encodeURIComponent(model), String(version)];
  for (const _ in metadata) return { headers: { "x-model-name": name, "x-model-version": number, ...metadata } };
  return {
    ownHeaders: [
      ["x-model-name", name],
      ["x-model-version", number],
    ],
  };
}
