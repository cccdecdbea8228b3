import { errorInfo } from "./error-info.ts";
import { type ErrorDetail, isErrorDetails, ServingError } from "./errors.ts";

/** A `google.rpc.ErrorInfo` of a request for one answer to a model that answered in parts. */
const ANSWERS_IN_PARTS: ErrorDetail = errorInfo("ANSWERS_IN_PARTS");

/** The error for a request that takes one answer, to a model that gave none, or more than one part. */
export function notOneAnswer(model: string, count: 0 | 2): ServingError {
  const gave = count === 0 ? "no part" : "more than one part";
  return new ServingError(
    "unimplemented",
    `The model ${model} answers in parts and gave ${gave}, where one answer is expected: call it by a route that streams, such as ModelStreamInfer or POST …/infer_stream of KServe V2, or export collect(parts) from its hooks.`,
    { details: [ANSWERS_IN_PARTS] },
  );
}

/** Checks for a {@link notOneAnswer}, through however many threads it came: protocols have their own texts for it. */
export function isNotOneAnswer(reason: unknown): reason is ServingError {
  if (!(reason instanceof ServingError) || !isErrorDetails(reason.details)) return false;
  return reason.details.some(({ type, value }) => type === ANSWERS_IN_PARTS.type && value === ANSWERS_IN_PARTS.value);
}
