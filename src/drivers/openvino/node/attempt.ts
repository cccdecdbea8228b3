import { ServingError } from "../../../errors.ts";
import { OpenvinoFailure } from "../openvino-failure.ts";

/** Calls the addon; throws {@link OpenvinoFailure} with the text of its error. */
export function attempt<Value>(call: () => Value): Value {
  try {
    return call();
  } catch (reason) {
    throw toFailure(reason);
  }
}

/** The error that the addon threw, or rejected a promise with. */
export function toFailure(reason: unknown): Error {
  if (reason instanceof ServingError) return reason;
  return new OpenvinoFailure("failed", reason instanceof Error ? reason.message : String(reason));
}
