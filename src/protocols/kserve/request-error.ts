import { ServingError } from "../../errors.ts";

/** The error of a request that its model cannot take, after the request's id, as Triton writes it; `id` may be empty. */
export function requestError(id: string, message: string): ServingError {
  return new ServingError("invalid_argument", `[request id: ${id === "" ? "<id_unknown>" : id}] ${message}`);
}
