import { invalidArgument, ServingError } from "../../errors.ts";
import { failureText } from "./openvino-failure.ts";

/** The error for an option that OpenVINO refuses for the model; a ServingError is returned unchanged. */
export function cannotTake(
  { option, text }: { readonly option: string; readonly text: string | undefined },
  cause: unknown,
): ServingError {
  if (cause instanceof ServingError) return cause;
  return invalidArgument(`Option "${option}" is "${text}", which the model cannot take: ${failureText(cause)}.`, cause);
}
