import { publicText, ServingError } from "../errors.ts";
import type { HookSet } from "../hooks/hook-set.ts";
import { nameMismatch, outputMismatch } from "../models/check-outputs.ts";
import type { CancelSignal } from "../platform/async/cancel-source.ts";
import type { Values } from "../tensor/plain-value.ts";
import { isObject } from "../tensor/record.ts";
import { assertOutputs } from "../tensor/signature/choose-signature.ts";
import type { TensorSpec } from "../tensor/signature/signature.ts";
import { createTensors, type Tensor, type Tensors } from "../tensor/tensor.ts";
import { type Payload, sealJsonInTurns, sealPayload } from "./payload.ts";

/** Values between two steps, and the step that gave them; undefined = the client. */
export interface Step {
  readonly values: Values;
  readonly giver: string | undefined;
  /** True if the giver is a model, absent for others. */
  readonly isOfModel?: boolean;
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
 * `internal` for those that cannot be sent, and for an answer that is not what `hooks` declare.
 */
export function sealOutputs(step: Step, { inputs, outputs }: Asked, hooks: Declared | undefined): Payload {
  const sealed =
    hooks !== undefined || inputs.kind === "json"
      ? sealValues(declaredOf(step, inputs.kind, hooks?.outputs), inputs.kind, hooks?.outputs)
      : { kind: inputs.kind, tensors: step.values as Tensors };
  if (hooks !== undefined) checkDeclared(sealed, step, { asked: outputs, declared: hooks });
  if (outputs === undefined || sealed.kind === "json") return sealed;
  return { kind: "tensors", tensors: pickOutputs(sealed.tensors, outputs) };
}

/** {@link sealOutputs} for a request in JSON that hooks answer; in turns where there is much to write. */
export async function sealJsonOutputs(step: Step, hooks: Declared, signal: CancelSignal): Promise<Payload> {
  checkDeclaredNames(step, hooks);
  const { values, giver } = step;
  try {
    return { kind: "json", json: await sealJsonInTurns(values, signal) };
  } catch (reason) {
    throw signal.aborted ? reason : unsendable(reason, { giver });
  }
}

/** Of what a model gives behind the last hook, the outputs that are declared: no hook has chosen the others. */
function declaredOf(step: Step, kind: Payload["kind"], declared: readonly TensorSpec[] | undefined): Step {
  if (step.isOfModel !== true || declared === undefined || kind === "json") return step;
  const names = new Set(declared.map(({ name }) => name));
  return { ...step, values: Object.fromEntries(Object.entries(step.values).filter(([name]) => names.has(name))) };
}

/**
 * Values that are the client's own, which a model echoed, are no fault of a hook. A part may lack outputs; so may what
 * a model gives that was asked for some.
 */
function checkDeclared(
  sealed: Payload,
  { giver, isOfModel = false }: Step,
  { asked, declared }: { readonly asked: readonly string[] | undefined; readonly declared: Declared },
): void {
  const { outputs, isPart = false } = declared;
  if (outputs === undefined || giver === undefined || sealed.kind === "json") return;
  const needed = isPart ? [] : isOfModel ? asked : undefined;
  const mismatch = outputMismatch(sealed.tensors, { declared: outputs, needed });
  if (mismatch !== undefined) throw new ServingError("internal", `${giver} ${mismatch}.`);
}

/** Values in JSON have no dtypes: their names alone are compared. A model may give others behind the last hook. */
function checkDeclaredNames({ values, giver, isOfModel = false }: Step, { outputs, isPart = false }: Declared): void {
  if (outputs === undefined || giver === undefined || !isObject(values)) return;
  // JSON has other members.
  if (typeof values.toJSON === "function") return;
  const isChecked = (name: string) => !isOfModel || outputs.some((spec) => spec.name === name);
  // JSON leaves undefined members out.
  const came = Object.keys(values).filter((name) => values[name] !== undefined && isChecked(name));
  const mismatch = nameMismatch(came, { declared: outputs, needed: isPart ? [] : undefined });
  if (mismatch !== undefined) throw new ServingError("internal", `${giver} ${mismatch}.`);
}

/** Plain values get the dtypes and shapes of declared outputs, if those hold them. */
function sealValues({ values, giver }: Step, kind: Payload["kind"], declared?: readonly TensorSpec[]): Payload {
  try {
    return sealPayload(values, kind, declared);
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
