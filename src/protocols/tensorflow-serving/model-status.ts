import type { IncomingMessage } from "node:http";
import { ServingError } from "../../errors.ts";
import type { InferenceService, ModelRef, ServableState } from "../../serving/inference-service.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import { chooseSignature } from "../../tensor/signature/choose-signature.ts";
import { knownInputs, type LooseSpec, toSize } from "../../tensor/signature/signature.ts";
import { typeOfDType } from "./tensor-proto.ts";

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

/** The states of a model's versions, with the members of KServe's V1 protocol. */
interface ReadyStatus extends ModelStatus {
  readonly name: string;
  readonly ready: true;
}

/** The status of a model that is ready. Throws `unavailable` for one that is not, `not_found` for an unknown one. */
export function readyStatus(service: InferenceService, name: string): ReadyStatus {
  const status = statusOf(service, name);
  const own = service.nameOf?.(name) ?? name;
  // One that is available may lack its threads, or another model.
  const isReady = service.index().some((one) => one.model === own && one.state === "AVAILABLE" && one.isReady);
  if (!isReady) throw new ServingError("unavailable", `Model with name ${name} is not ready.`);
  return { name, ready: true, ...status };
}

function statusOf(service: InferenceService, model: string): ModelStatus {
  try {
    return modelStatus(service, { model });
  } catch (cause) {
    throw new ServingError("not_found", `Model with name ${model} does not exist.`, { cause });
  }
}

/**
 * Checks if a request is of KServe's SDK, which calls with httpx. Clients of TensorFlow Serving, and tests of OpenVINO
 * Model Server, parse the same URL's answer as a protobuf message, which bears no further members.
 */
export function isOfKserve({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return /\bhttpx\b/i.test(headers["user-agent"] ?? "");
}

/** A model as Simple TensorFlow Serving describes it. */
export interface ModelDetail {
  readonly model_name: string;
  /** Always empty: clients do not get paths of the server. */
  readonly model_base_path: "";
  /** Available versions, lowest first. */
  readonly model_version_list: readonly string[];
  readonly model_signature: { readonly inputs: readonly TensorDetail[]; readonly outputs: readonly TensorDetail[] };
  /** Empty if no version is available. */
  readonly platform: string;
}

interface TensorDetail {
  readonly name: string;
  /** Number of TensorFlow's DataType; 0 = not known. */
  readonly dtype: number;
  /** Sizes, -1 = any; empty if the rank is not known. */
  readonly shape: readonly number[];
}

const NO_SIGNATURE: ModelDetail["model_signature"] = { inputs: [], outputs: [] };

/** The original's names of its platforms, by our drivers. */
const PLATFORMS: Readonly<Record<string, string>> = {
  tensorflow: "TensorFlow",
  onnx: "ONNX",
  sklearn: "Scikit-learn",
  xgboost: "XGBoost",
};

/** The description of a model with the states of its versions. The status is read last, as a model may go meanwhile. */
export async function withDetail(service: InferenceService, model: string): Promise<ModelDetail & ModelStatus> {
  const detail = await modelDetail(service, model);
  return { ...detail, ...modelStatus(service, { model }) };
}

/** Describes a model by its newest version, without loading it. */
async function modelDetail(service: InferenceService, model: string): Promise<ModelDetail> {
  const available = service.index().filter((one) => one.model === model && one.state === "AVAILABLE");
  const versions = available.map(({ version }) => version).sort((a, b) => (a < b ? -1 : 1));
  const description = versions.length === 0 ? undefined : await describeModel(service, model);
  return {
    model_name: model,
    model_base_path: "",
    model_version_list: versions.map(String),
    model_signature: description === undefined ? NO_SIGNATURE : signatureDetail(description),
    platform: (description?.drivers ?? []).map((driver) => PLATFORMS[driver] ?? driver).join(" + "),
  };
}

/** The newest version's description; undefined if there is none any more. */
async function describeModel(service: InferenceService, model: string): Promise<ServableDescription | undefined> {
  try {
    const lease = await service.acquire({ model });
    lease.release();
    return lease.description;
  } catch (reason) {
    if (ServingError.from(reason).code === "not_found") return undefined;
    throw reason;
  }
}

function signatureDetail({ signatures }: ServableDescription): ModelDetail["model_signature"] {
  const signature = chooseSignature("", signatures)?.spec ?? {};
  const { outputs = [] } = signature;
  return { inputs: (knownInputs(signature) ?? []).map(tensorDetail), outputs: outputs.map(tensorDetail) };
}

function tensorDetail({ name, dtype, shape = [] }: LooseSpec): TensorDetail {
  return { name, dtype: dtype === undefined ? 0 : typeOfDType(dtype).number, shape: shape.map(toSize) };
}
