import type { InferenceService } from "../../serving/inference-service.ts";
import type { Signature } from "../../tensor/signature/signature.ts";
import { defaultSignature } from "./model-metadata.ts";
import { describeModel } from "./model-ref.ts";

/** A model's name, and its default signature. */
export type NamedSignature = readonly [name: string, signature: Signature];

/** Inputs and outputs that a document describes: beyond them a model is there without its own. */
const MOST_TENSORS = 2000;

/** Every model that is ready, with its default signature, as far as a document describes it. */
export async function describeAll(service: InferenceService): Promise<readonly NamedSignature[]> {
  const names = new Set(service.index().flatMap(({ model, isReady }) => (isReady ? [model] : [])));
  const described = [...names].map(async (model) => {
    const found = await describeModel(service, { model }).catch(() => undefined);
    // Unloaded meanwhile.
    return found === undefined ? [] : [[model, defaultSignature(found)] as const];
  });
  return withinMost((await Promise.all(described)).flat());
}

/** The models as far as a document describes them: one with too many tensors is there without its own. */
export function withinMost(models: readonly NamedSignature[]): readonly NamedSignature[] {
  let left = MOST_TENSORS;
  return models.map(([name, signature]) => {
    const { inputs = [], outputs = [] } = signature;
    const count = inputs.length + outputs.length;
    if (count > left) return [name, {}];
    left -= count;
    return [name, signature];
  });
}
