import { ServingError } from "../../errors.ts";

/** The error for a model, an option or a device that cannot be served. */
export function refused(message: string, cause?: unknown): ServingError {
  return new ServingError("failed_precondition", message, cause === undefined ? {} : { cause });
}
