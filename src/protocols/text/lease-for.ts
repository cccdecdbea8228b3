import { hintedError } from "../../error-info.ts";
import type { ServingError } from "../../errors.ts";
import type { CallOptions, InferenceService, Lease, ModelsCall } from "../../serving/inference-service.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import { acquireModel } from "../kserve/model-ref.ts";

/** A model, and the functions of hooks of which one is to answer. */
interface Wanted {
  /** Empty = the only model. */
  readonly model: string;
  readonly entries: readonly string[];
}

/** Models that answer without a function of hooks. */
interface OwnAnswer {
  readonly isEnough: (description: ServableDescription) => boolean;
  /** Such a model in words, behind "or one that". */
  readonly does: string;
}

/**
 * Leases the version that answers a request. Throws `not_found` for an unknown model with the nearest known one, and
 * for one that cannot answer: its hooks have none of the functions, and it does not answer by itself.
 */
export async function leaseFor(
  service: InferenceService,
  { model, entries }: Wanted,
  call: CallOptions,
  own?: OwnAnswer,
): Promise<Lease> {
  const lease = await acquireModel(await knowing(service, call, model), { model }, call);
  const { description } = lease;
  if (entries.some((entry) => hasEntry(description, entry)) || own?.isEnough(description)) return lease;
  lease.release();
  throw noFunction(description.model, entries, own);
}

/** The service as the caller of a request knows it, with all its models or with one. */
export async function knowing(service: InferenceService, call: ModelsCall, model?: string): Promise<InferenceService> {
  return (await service.withModels?.(call, model)) ?? service;
}

/** Checks if a version's hooks have a function. */
export function hasEntry({ hooks }: ServableDescription, entry: string): boolean {
  return hooks?.entries?.includes(entry) === true;
}

function noFunction(model: string, entries: readonly string[], own: OwnAnswer | undefined): ServingError {
  const hooked = entries.length === 0 ? [] : [`a model whose hook file has the function ${entries.join(" or ")}`];
  const expected = [...hooked, ...(own === undefined ? [] : [`one that ${own.does}`])].join(", or ");
  const message = `The model ${model} does not answer this: expected ${expected}.`;
  return hintedError("not_found", message, { reason: "WRONG_PARAMETER", field: "model", expected });
}
