import { ServingError } from "../../errors.ts";
import type { InferenceService, ModelRef, ServableState } from "../../serving/inference-service.ts";

/** A tensorflow.serving.GetModelStatusResponse in protobuf's JSON form. */
export interface ModelStatus {
  /** Highest version first. */
  readonly model_version_status: readonly ModelVersionStatus[];
}

interface ModelVersionStatus {
  readonly version: string;
  readonly state: ServableState["state"];
  readonly status: { readonly error_code: string; readonly error_message: string };
}

/**
 * States of the version that is asked for, else of all versions of a model; a label is
 * ignored, as in the original. Version 0 means none unless it exists: OpenVINO's
 * client sends it for every version. Throws `not_found` with the original's texts.
 */
export function modelStatus(service: InferenceService, { model, version }: ModelRef): ModelStatus {
  const name = service.nameOf?.(model) ?? model;
  const known = service.index().filter((one) => one.model === name);
  const ofVersion = known.filter((one) => one.version === version);
  const isAll = version === undefined || (version === 0n && ofVersion.length === 0);
  const found = isAll ? known : ofVersion;
  if (found.length > 0) return { model_version_status: found.map(toVersionStatus) };
  const which = isAll ? "any versions" : `version ${version}`;
  throw new ServingError("not_found", `Could not find ${which} of model ${model}`);
}

function toVersionStatus({ version, state, error }: ServableState): ModelVersionStatus {
  const status = { error_code: error?.code.toUpperCase() ?? "OK", error_message: error?.message ?? "" };
  return { version: String(version), state, status };
}
