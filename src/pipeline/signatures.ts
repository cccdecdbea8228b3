import type { HookSet } from "../hooks/hook-set.ts";
import type { ModelFacts } from "../models/model-facts.ts";
import { DEFAULT_SIGNATURE, type Signature, type TensorSpec, takesImages } from "../tensor/signature/signature.ts";

/** Facts about hooks that decide a pipeline's signatures; plain data. */
export interface HookEdges {
  /** Inputs and outputs that the hooks declare. */
  readonly inputs?: readonly TensorSpec[];
  readonly outputs?: readonly TensorSpec[];
  /** True if `process` replaces the chain. */
  readonly replacesChain: boolean;
  /** True if a hook runs between the client and the first model, or between the last model and the client. */
  readonly changesInputs: boolean;
  readonly changesOutputs: boolean;
}

/** The edges of a pipeline with these hooks. */
export function hookEdges({ process, preprocess, postprocess, inputs, outputs }: HookSet): HookEdges {
  const replacesChain = process !== undefined;
  return {
    ...(inputs && { inputs }),
    ...(outputs && { outputs }),
    replacesChain,
    changesInputs: replacesChain || (preprocess[0] ?? null) !== null,
    changesOutputs: replacesChain || (postprocess.at(-1) ?? null) !== null,
  };
}

type SignedModel = Pick<ModelFacts, "signatures" | "defaultSignature">;

/**
 * Inputs and outputs of a pipeline: those that its hooks declare, else the first model's inputs and the last model's
 * outputs if no hook stands before or after them, else unknown. One model keeps all its signatures; a chain has one.
 */
export function pipelineSignatures(
  models: readonly SignedModel[],
  hooks: HookEdges | undefined,
): Record<string, Signature> {
  const [first] = models;
  if (models.length !== 1 || first === undefined || hooks?.replacesChain) {
    return { [DEFAULT_SIGNATURE]: chainSignature(models, hooks) };
  }
  const signatures = Object.entries(first.signatures);
  return Object.fromEntries(signatures.map(([name, signature]) => [name, withHooks(signature, hooks)]));
}

function chainSignature(models: readonly SignedModel[], hooks: HookEdges | undefined): Signature {
  const first = models[0];
  const last = models.at(-1);
  return withHooks(
    {
      ...pickInputs(first?.signatures[first.defaultSignature]),
      ...pickOutputs(last?.signatures[last.defaultSignature]?.outputs),
    },
    hooks,
  );
}

function withHooks(model: Signature, hooks: HookEdges | undefined): Signature {
  if (hooks === undefined) return model;
  return {
    ...inputsOf(model, hooks),
    ...pickOutputs(hooks.outputs ?? (hooks.changesOutputs ? undefined : model.outputs)),
  };
}

function inputsOf(model: Signature, { inputs, changesInputs }: HookEdges): Signature {
  if (inputs !== undefined) return { inputs: inputs.map((spec) => withModelFacts(spec, model)) };
  if (!changesInputs) return pickInputs(model);
  return model.inputs === undefined ? {} : { modelInputs: model.inputs };
}

/**
 * Uses the model's own input if the declared one equals it, so that it takes images
 * as the model's does; others do not.
 */
function withModelFacts(spec: TensorSpec, { inputs = [] }: Signature): TensorSpec {
  const own = inputs.find((input) => isSameInput(spec, input));
  if (own === undefined) return takesImages(spec) ? { ...spec, refusesImages: true } : spec;
  return { ...own, ...spec };
}

/** Checks that two inputs have the same name, dtype and shape. */
export function isSameInput(one: TensorSpec, other: TensorSpec): boolean {
  const isAlike = one.name === other.name && one.dtype === other.dtype;
  return isAlike && JSON.stringify(one.shape) === JSON.stringify(other.shape);
}

function pickInputs({ inputs, inputNames, suggestedInputs, isTabular }: Signature = {}): Signature {
  return {
    ...(inputs && { inputs }),
    ...(inputNames && { inputNames }),
    ...(suggestedInputs && { suggestedInputs }),
    ...(isTabular && { isTabular }),
  };
}

function pickOutputs(outputs: readonly TensorSpec[] | undefined): Signature {
  return outputs === undefined ? {} : { outputs };
}
