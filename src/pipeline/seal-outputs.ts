import { publicText, ServingError } from "../errors.ts";
import type { Values } from "../tensor/plain-value.ts";
import { assertOutputs } from "../tensor/signature/choose-signature.ts";
import { createTensors, type Tensor, type Tensors } from "../tensor/tensor.ts";
import { type Payload, sealPayload } from "./payload.ts";

/** Values between two steps, and the step that gave them; undefined = the client. */
export interface Step {
  readonly values: Values;
  readonly giver: string | undefined;
}

/** Parts of a request that determine the form of its answer. */
interface Asked {
  readonly inputs: Payload;
  /** Output names wanted; absent = all. */
  readonly outputs?: readonly string[] | undefined;
}

/**
 * Converts the last step's values to the kind of payload that the request has; throws
 * `internal` for those that cannot be sent.
 */
export function sealOutputs(step: Step, { inputs, outputs }: Asked, hasHooks: boolean): Payload {
  const sealed =
    hasHooks || inputs.kind === "json"
      ? sealValues(step, inputs.kind)
      : { kind: inputs.kind, tensors: step.values as Tensors };
  if (outputs === undefined || sealed.kind === "json") return sealed;
  return { kind: "tensors", tensors: pickOutputs(sealed.tensors, outputs) };
}

function sealValues({ values, giver }: Step, kind: Payload["kind"]): Payload {
  try {
    return sealPayload(values, kind);
  } catch (reason) {
    throw unsendable(reason, { giver });
  }
}

/** The error for values that cannot be sent: the client's fault if they are the client's own. */
export function unsendable(reason: unknown, { giver }: Pick<Step, "giver">): unknown {
  if (giver === undefined) return reason;
  const message = `${giver} returned what cannot be sent: ${publicText(reason)}`;
  return new ServingError("internal", message, { cause: reason });
}

/** The wanted tensors in the requested order; throws `invalid_argument` for a missing one. */
export function pickOutputs(tensors: Tensors, wanted: readonly string[]): Tensors {
  assertOutputs(
    wanted,
    Object.keys(tensors).map((name) => ({ name })),
  );
  return createTensors(wanted.map((name) => [name, tensors[name] as Tensor]));
}
