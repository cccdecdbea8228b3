import { ServingError } from "../errors.ts";
import type { AspiredModel } from "../serving/aspired-model.ts";
import type { ModelConfig } from "./config/model-config.ts";
import { FLAT_VERSION } from "./folders/list-versions.ts";
import type { LoadOptions } from "./load-servable.ts";
import { scanModel } from "./scan-model.ts";

/**
 * Finds the versions of a model that should be served now. Never rejects: a model whose versions cannot be listed gets
 * one version that fails to load for that reason, so that its state shows the reason.
 */
export async function aspireModel(config: ModelConfig, options: LoadOptions): Promise<AspiredModel> {
  try {
    options.storage?.expire();
    const { model, available, warnings } = await scanModel(config, options, { settle: (version) => version });
    for (const warning of warnings) options.log.warn(warning);
    return { ...model, present: [...available] };
  } catch (reason) {
    return failedModel(config, reason);
  }
}

/** A model that cannot be served: its only version does not load. */
export function failedModel({ name }: ModelConfig, reason: unknown): AspiredModel {
  const error = ServingError.from(reason);
  const load = () => Promise.reject(error);
  const fingerprint = `${FAILED}${error.message}`;
  return { name, versions: [{ version: FLAT_VERSION, fingerprint, refusal: error, load }] };
}

const FAILED = "failed: ";

/** Checks if a fingerprint is that of a {@link failedModel}. */
export function isFailed(fingerprint: string): boolean {
  return fingerprint.startsWith(FAILED);
}
