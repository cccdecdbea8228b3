import { ServingError } from "../../errors.ts";
import type {
  InferenceService,
  ModelRef,
  ServableDescription,
  ServableState,
} from "../../serving/inference-service.ts";
import { servedNames } from "../../serving/served-names.ts";

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
    if (!(reason instanceof ServingError) || reason.code !== "not_found") throw reason;
    throw modelNotFound(ref, service);
  }
}

/** Whether a version of a model can answer now; where a remote server does not tell, whether that server can. */
export function isModelReady(service: InferenceService, { model, version }: ServableDescription): boolean {
  const known = service.index();
  if (known.length === 0) return service.isReady();
  return known.some((one) => one.model === model && one.version === version && one.isReady);
}

/** The error for a model or version that does not answer, with the text of Triton, and with what there is instead. */
export function modelNotFound({ model, version }: ModelRef, service: InferenceService): ServingError {
  const known = service.index().filter((one) => one.model === model);
  const which = version === undefined || known.length === 0 ? `'${model}'` : `'${model}' version ${version}`;
  const isThere = known.some((one) => version === undefined || one.version === version);
  // What is there, and was yet not resolved, is not loaded.
  const unloaded = version === undefined ? "has no available versions" : "is not at ready state";
  const text = `Request for unknown model: ${which} ${isThere ? unloaded : "is not found"}`;
  return new ServingError("not_found", isThere ? text : text + whatIsThere(model, known, service));
}

/** What a client may ask for instead. */
function whatIsThere(model: string, known: readonly ServableState[], service: InferenceService): string {
  if (known.length > 0) return `. It has version ${known.map(({ version }) => version).join(", ")}.`;
  const served = servedNames(
    model,
    service.index().map((one) => one.model),
  );
  return served && `.${served}`;
}
