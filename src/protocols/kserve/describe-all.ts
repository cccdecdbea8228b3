import type { InferenceService } from "../../serving/inference-service.ts";
import type { Signature } from "../../signature/signature.ts";
import { defaultSignature } from "./model-metadata.ts";
import { describeModel } from "./model-ref.ts";

/** A model's name, and its default signature. */
export type NamedSignature = readonly [name: string, signature: Signature];

/** Every model that is ready, with its default signature. */
export async function describeAll(service: InferenceService): Promise<readonly NamedSignature[]> {
  const names = new Set(service.index().flatMap(({ model, isReady }) => (isReady ? [model] : [])));
  const described = [...names].map(async (model) => {
    const found = await describeModel(service, { model }).catch(() => undefined);
    // Unloaded meanwhile.
    return found === undefined ? [] : [[model, defaultSignature(found)] as const];
  });
  return (await Promise.all(described)).flat();
}
