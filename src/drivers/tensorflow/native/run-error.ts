import { type ErrorCode, fromGrpcStatus, ServingError } from "../../../errors.ts";
import type { Tensor } from "../../../tensor/tensor.ts";
import { failedNode, failureText } from "./failure-text.ts";
import { TensorflowFailure } from "./status.ts";

/** Codes with the same meaning for clients as for TensorFlow; `not_found`, for example, would mean a missing model. */
const CODES_FOR_CLIENTS: readonly ErrorCode[] = [
  "invalid_argument",
  "deadline_exceeded",
  "failed_precondition",
  "out_of_range",
  "resource_exhausted",
  "unimplemented",
  "data_loss",
];

/** The error for a failed run, with the failed node and, where they may be the reason, the inputs. */
export function toRunError(reason: unknown, inputs: Iterable<readonly [name: string, tensor: Tensor]>): ServingError {
  if (!(reason instanceof TensorflowFailure)) return ServingError.from(reason);
  const code = fromGrpcStatus(reason.code);
  if (code === "deadline_exceeded") {
    return new ServingError(code, "The request's deadline passed while the model ran.", { cause: reason });
  }
  const node = failedNode(reason);
  const where = node === undefined ? "The model failed" : `The model failed in node "${node}"`;
  const given = code === "invalid_argument" || code === "out_of_range" ? ` ${describe(inputs)}` : "";
  const known = CODES_FOR_CLIENTS.includes(code) ? code : "internal";
  return new ServingError(known, `${where}: ${failureText(reason)}.${given}`, { cause: reason });
}

function describe(inputs: Iterable<readonly [string, Tensor]>): string {
  const texts = Array.from(inputs, ([name, { dtype, shape }]) => `${name} ${dtype}[${shape}]`);
  return texts.length === 0 ? "The run had no inputs." : `The inputs were ${texts.join(", ")}.`;
}
