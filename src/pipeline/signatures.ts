import type { HookSet } from "../hooks/hook-set.ts";
import type { ModelHandle } from "../model-host/model-handle.ts";
import { DEFAULT_SIGNATURE, type Signature, type TensorSpec } from "../signature/signature.ts";

/**
 * What a pipeline takes and gives: what its hooks declare, else the first model's inputs and the last model's outputs
 * where no hook stands before or after them, else unknown. One model keeps all its signatures; a chain has one.
 */
export function pipelineSignatures(
  models: readonly ModelHandle[],
  hooks: HookSet | undefined,
): Record<string, Signature> {
  const [first] = models;
  if (models.length !== 1 || first === undefined || hooks?.process !== undefined) {
    return { [DEFAULT_SIGNATURE]: edges(models, hooks) };
  }
  const signatures = Object.entries(first.signatures);
  return Object.fromEntries(signatures.map(([name, signature]) => [name, withHooks(signature, hooks)]));
}

function edges(models: readonly ModelHandle[], hooks: HookSet | undefined): Signature {
  const first = models[0];
  const last = models.at(-1);
  return withHooks(
    {
      ...pick("inputs", first?.signatures[first.defaultSignature]?.inputs),
      ...pick("outputs", last?.signatures[last.defaultSignature]?.outputs),
    },
    hooks,
  );
}

function withHooks(model: Signature, hooks: HookSet | undefined): Signature {
  if (hooks === undefined) return model;
  const opaqueBefore = hooks.process !== undefined || (hooks.preprocess[0] ?? null) !== null;
  const opaqueAfter = hooks.process !== undefined || (hooks.postprocess.at(-1) ?? null) !== null;
  return {
    ...pick("inputs", hooks.inputs ?? (opaqueBefore ? undefined : model.inputs)),
    ...pick("outputs", hooks.outputs ?? (opaqueAfter ? undefined : model.outputs)),
  };
}

function pick(side: keyof Signature, specs: readonly TensorSpec[] | undefined): Signature {
  return specs === undefined ? {} : { [side]: specs };
}
