import { failedPrecondition, type ServingError } from "../../../errors.ts";

/** The reason why an operation cannot be computed as TensorFlow would; collected, so that one message names all. */
export class Refusal extends Error {
  override readonly name = "Refusal";
}

/** At most so many operations are named in one message. */
const MAX_NAMED = 12;

/** The error for a model that the portable engine does not load, naming each operation and what serves it. */
export function toLoadError(reasons: ReadonlySet<string>): ServingError {
  const named = [...reasons]
    .slice(0, MAX_NAMED)
    .map((reason) => reason.replace(/\.$/, ""))
    .join("; ");
  const more = reasons.size > MAX_NAMED ? `; and ${reasons.size - MAX_NAMED} more` : "";
  return refusedModel(`The portable engine cannot compute this model as TensorFlow does: ${named}${more}.`);
}

/** `failed_precondition` with what to do instead. */
export function refusedModel(problem: string, cause?: unknown): ServingError {
  return failedPrecondition(`${problem} The native engine serves it: kserving runtimes install tensorflow.`, cause);
}
