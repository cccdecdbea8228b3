import { invalidArgument, type ServingError } from "../../errors.ts";
import type { TensorSpec } from "../../tensor/signature/signature.ts";

/** The error for an input whose images do not fit, in OpenVINO Model Server's form. */
export function imageRefused(what: string, detail: string, { name }: TensorSpec): ServingError {
  return invalidArgument(`${what} - ${detail}; input name: ${name}`);
}
