import { type ErrorHint, hintedError } from "../../error-info.ts";
import { invalidArgument, type ServingError } from "../../errors.ts";

/** The error of a request that does not fit its model, in Triton's form after the request's id; `id` may be empty. */
export function requestError(id: string, message: string): ServingError {
  return invalidArgument(`[request id: ${id === "" ? "<id_unknown>" : id}] ${message}`);
}

/** {@link requestError} with a hint for programs. */
export function hintedRequestError(id: string, message: string, hint: ErrorHint): ServingError {
  return hintedError("invalid_argument", requestError(id, message).message, hint);
}
