import { ServingError } from "../../errors.ts";
import type { InferenceService, ModelRef, ServableDescription } from "../../serving/inference-service.ts";

/** What a request's model name and version text mean; an empty version is the highest one. Throws `invalid_argument` for any other that is no positive integer. */
export function toModelRef(model: string, version: string): ModelRef {
  if (version === "") return { model };
  if (/^[0-9]{1,18}$/.test(version) && BigInt(version) > 0n) return { model, version: BigInt(version) };
  const details = /^-?[0-9]+$/.test(version) ? "" : " (details: stol)";
  throw new ServingError(
    "invalid_argument",
    `failed to get model version from specified version string '${version.slice(0, 40)}'${details}, version should be an integral value > 0`,
  );
}

/** Resolves a reference; throws `not_found` with the texts of Triton, whose clients assert on them. */
export async function describeModel(service: InferenceService, ref: ModelRef): Promise<ServableDescription> {
  try {
    return await service.describe(ref);
  } catch (reason) {
    throw toKserveError(reason, ref, service);
  }
}

/** Whether a version of a model can answer now; where a remote server does not tell, whether that server can. */
export function isModelReady(service: InferenceService, { model, version }: ServableDescription): boolean {
  const known = service.index();
  if (known.length === 0) return service.isReady();
  return known.some((one) => one.model === model && one.version === version && one.isReady);
}

function toKserveError(reason: unknown, { model, version }: ModelRef, service: InferenceService): unknown {
  if (!(reason instanceof ServingError) || reason.code !== "not_found") return reason;
  const known = service.index().filter((one) => one.model === model);
  const which = version === undefined || known.length === 0 ? `'${model}'` : `'${model}' version ${version}`;
  const isThere = known.some((one) => version === undefined || one.version === version);
  // What is there, and was yet not resolved, is not loaded.
  const unloaded = version === undefined ? "has no available versions" : "is not at ready state";
  return new ServingError("not_found", `Request for unknown model: ${which} ${isThere ? unloaded : "is not found"}`);
}
