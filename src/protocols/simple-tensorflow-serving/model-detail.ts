import { ServingError } from "../../errors.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import { chooseSignature } from "../../tensor/signature/choose-signature.ts";
import { knownInputs, type LooseSpec, toSize } from "../../tensor/signature/signature.ts";
import { typeOfDType } from "../tensorflow-serving/tensor-proto.ts";

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

/** Describes a model by its newest version, without loading it. */
export async function modelDetail(service: InferenceService, model: string): Promise<ModelDetail> {
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
