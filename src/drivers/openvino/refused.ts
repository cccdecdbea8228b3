import { ServingError } from "../../errors.ts";
import { failureText } from "./openvino-failure.ts";

/** The error for an option whose value cannot be read, or does not fit the model. */
export function invalidOption(message: string, cause?: unknown): ServingError {
  return new ServingError("invalid_argument", message, cause === undefined ? {} : { cause });
}

/** The error for an option that OpenVINO refuses for the model; what is an error for people already stays as it is. */
export function cannotTake(
  { option, text }: { readonly option: string; readonly text: string | undefined },
  cause: unknown,
): ServingError {
  if (cause instanceof ServingError) return cause;
  return invalidOption(`Option "${option}" is "${text}", which the model cannot take: ${failureText(cause)}.`, cause);
}

/** The error for a model, an option or a device that cannot be served. */
export function refused(message: string, cause?: unknown): ServingError {
  return new ServingError("failed_precondition", message, cause === undefined ? {} : { cause });
}
