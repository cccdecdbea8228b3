import { ServingError } from "../../../errors.ts";
import { OpenvinoFailure } from "../openvino-failure.ts";

/** Calls the addon; throws {@link OpenvinoFailure} with its words for what it throws. */
export function attempt<Value>(call: () => Value): Value {
  try {
    return call();
  } catch (reason) {
    throw toFailure(reason);
  }
}

/** What the addon threw, or a promise of it was rejected with. */
export function toFailure(reason: unknown): Error {
  if (reason instanceof ServingError) return reason;
  return new OpenvinoFailure("failed", reason instanceof Error ? reason.message : String(reason));
}
