import { invalidArgument, type ServingError } from "../../errors.ts";

/** The error of a request that does not fit its model, in Triton's form after the request's id; `id` may be empty. */
export function requestError(id: string, message: string): ServingError {
  return invalidArgument(`[request id: ${id === "" ? "<id_unknown>" : id}] ${message}`);
}
