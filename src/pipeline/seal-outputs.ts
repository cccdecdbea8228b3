import { publicText, ServingError } from "../errors.ts";
import type { HookSet } from "../hooks/hook-set.ts";
import { nearest } from "../platform/text/nearest.ts";
import type { Values } from "../tensor/plain-value.ts";
import { assertOutputs } from "../tensor/signature/choose-signature.ts";
import type { TensorSpec } from "../tensor/signature/signature.ts";
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

/** Hooks whose declared outputs an answer has; a part of one has some of them. */
interface Declared extends Pick<HookSet, "outputs"> {
  readonly isPart?: boolean;
}

/**
 * Converts the last step's values to the kind of payload that the request has; throws
 * `internal` for those that cannot be sent, and for an answer that lacks an output which `hooks` declare.
 */
export function sealOutputs(step: Step, { inputs, outputs }: Asked, hooks: Declared | undefined): Payload {
  if (hooks?.outputs !== undefined && inputs.kind === "tensors") checkDeclared(step, hooks.outputs, hooks.isPart);
  const sealed =
    hooks !== undefined || inputs.kind === "json"
      ? sealValues(step, inputs.kind)
      : { kind: inputs.kind, tensors: step.values as Tensors };
  if (outputs === undefined || sealed.kind === "json") return sealed;
  return { kind: "tensors", tensors: pickOutputs(sealed.tensors, outputs) };
}

/**
 * Values that a model gave, or the client, are no hook's fault; nor are those that go around a model. A part may have
 * any names but one that was meant to be another.
 */
function checkDeclared({ values, giver }: Step, declared: readonly TensorSpec[], isPart = false): void {
  const names = declared.map(({ name }) => name);
  const missing = names.filter((name) => !Object.hasOwn(values, name));
  if (missing.length === 0 || giver === undefined || !LAST_HOOK.test(giver)) return;
  const others = Object.keys(values).filter((name) => !names.includes(name));
  if (isPart && others.every((name) => nearest(name, missing) === undefined)) return;
  const came = others.map((name) => `"${name}"${meant(name, missing)}`).join(", ") || "nothing else";
  const lacks = missing.map((name) => `"${name}"`).join(", ");
  throw new ServingError("internal", `${giver} did not return the declared ${plural(missing)} ${lacks}, but ${came}.`);
}

/** The givers whose values are the answer's. */
const LAST_HOOK = /^The hook (?:process|postprocess|collect)\b/;

function meant(name: string, missing: readonly string[]): string {
  const near = nearest(name, missing);
  return near === undefined ? "" : ` (did you mean "${near}"?)`;
}

function plural({ length }: readonly string[]): string {
  return length === 1 ? "output" : "outputs";
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
