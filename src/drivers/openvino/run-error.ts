import { ServingError } from "../../errors.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { tellsOfMemory } from "../out-of-memory.ts";
import { tellsOfSizes } from "../shape-fault.ts";
import { failureText, OpenvinoFailure } from "./openvino-failure.ts";

/** The error for a failed run: the client's fault where sizes do not match, else `internal`; it names the inputs. */
export function toRunError(reason: unknown, inputs: Iterable<readonly [name: string, tensor: Tensor]>): ServingError {
  if (!(reason instanceof OpenvinoFailure)) return ServingError.from(reason);
  if (reason.kind === "cancelled") return new ServingError("cancelled", "The run was cancelled.", { cause: reason });
  const { message } = reason;
  const isRefused = reason.kind === "refused";
  const code = isRefused
    ? "invalid_argument"
    : tellsOfMemory(message)
      ? "resource_exhausted"
      : tellsOfSizes(message)
        ? "invalid_argument"
        : "internal";
  const given = Array.from(inputs, ([name, { dtype, shape }]) => `${name} ${dtype}[${shape}]`).join(", ");
  return new ServingError(code, `The model failed: ${failureText(reason)}. The inputs were ${given}.`, {
    cause: reason,
  });
}

/** Checks if a lack of memory was the reason. */
export function isOutOfMemory(reason: unknown): boolean {
  return reason instanceof OpenvinoFailure && tellsOfMemory(reason.message);
}
