import { type ErrorHint, hintedError, unknownName } from "../../error-info.ts";
import { invalidArgument, ServingError } from "../../errors.ts";
import type { CallOptions, InferenceService, Lease, ModelRef } from "../../serving/inference-service.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import { unknownModel } from "../../serving/served-names.ts";

/**
 * The model that a request's name and version text mean; an empty version is the highest one. Throws `invalid_argument`
 * for any other that is not a positive integer.
 */
export function toModelRef(model: string, version: string): ModelRef {
  if (version === "") return { model };
  if (/^[0-9]{1,18}$/.test(version) && BigInt(version) > 0n) return { model, version: BigInt(version) };
  const details = /^-?[0-9]+$/.test(version) ? "" : " (details: stol)";
  throw invalidArgument(
    `failed to get model version from specified version string '${version.slice(0, 40)}'${details}, version should be an integral value > 0`,
  );
}

/**
 * Leases the version that a reference means, for a request or only to describe it; throws with the codes and texts of
 * Triton, whose clients assert on them.
 */
export function acquireModel(service: InferenceService, ref: ModelRef, request?: CallOptions): Lease | Promise<Lease> {
  const rename = (reason: unknown) => {
    const { code } = ServingError.from(reason);
    const isUnknown = code === "not_found" || (code === "invalid_argument" && ref.model === "");
    return isUnknown ? modelNotFound(ref, service) : reason;
  };
  try {
    const lease = service.acquire(ref, request);
    return lease instanceof Promise ? lease.catch((reason) => Promise.reject(rename(reason))) : lease;
  } catch (reason) {
    throw rename(reason);
  }
}

/** Describes the version that a reference means; throws as {@link acquireModel} does. */
export async function describeModel(service: InferenceService, ref: ModelRef): Promise<ServableDescription> {
  const lease = await acquireModel(service, ref);
  lease.release();
  return lease.description;
}

/** Checks that a version of a model can answer now; without states from a remote server, that the server can. */
export function isModelReady(service: InferenceService, { model, version }: ServableDescription): boolean {
  const known = service.index();
  if (known.length === 0) return service.isReady();
  return known.some((one) => one.model === model && one.version === version && one.isReady);
}

/** The error for a model or version that does not answer, with Triton's text, and with alternatives. */
export function modelNotFound({ model, version }: ModelRef, service: InferenceService): ServingError {
  const name = service.nameOf?.(model) ?? model;
  const all = service.index();
  const versions = all.flatMap((one) => (one.model === name ? [String(one.version)] : []));
  const which = version === undefined || versions.length === 0 ? `'${model}'` : `'${model}' version ${version}`;
  const isThere = version === undefined ? versions.length > 0 : versions.includes(String(version));
  const text = `Request for unknown model: ${which}`;
  if (!isThere) {
    const [what, hint] =
      versions.length > 0
        ? versionsThere(String(version), versions)
        : modelsThere(model, new Set(all.map((one) => one.model)));
    return hintedError("not_found", `${text} is not found${what}`, hint);
  }
  // A listed version that was not resolved is not loaded.
  if (version === undefined) return new ServingError("not_found", `${text} has no available versions`);
  return new ServingError("unavailable", `${text} is not at ready state`);
}

/** Names that a client may use instead: the end of a text, and the same for programs. */
type Alternatives = readonly [text: string, hint: ErrorHint];

function versionsThere(version: string, versions: readonly string[]): Alternatives {
  // No version stands for another.
  const { didYouMean: _, ...hint } = unknownName("UNKNOWN_VERSION", version, versions);
  return [`. It has version ${versions.join(", ")}.`, hint];
}

function modelsThere(model: string, names: ReadonlySet<string>): Alternatives {
  const { text, hint } = unknownModel(model, names);
  return [text, hint];
}
