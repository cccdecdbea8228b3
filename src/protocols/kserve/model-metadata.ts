import type { InferenceService } from "../../serving/inference-service.ts";
import type { ServableDescription } from "../../serving/servable-description.ts";
import {
  defaultSignatureName,
  type LooseSpec,
  type Signature,
  type TensorSpec,
  toSize,
} from "../../tensor/signature/signature.ts";
import { datatypeOf } from "./datatype.ts";

/** Content of ModelMetadata and `GET /v2/models/NAME`. */
export interface ModelMetadata {
  readonly name: string;
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
}

/** One input or output; -1 = any size. */
interface TensorMetadata {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters?: { readonly [FEATURES]?: string; readonly [CATEGORIES]?: string; readonly [EXAMPLE]?: string };
}

/**
 * Parameters with the names of an input's features, the values that the model knows, and one that it takes. The
 * protocol's parameters cannot be lists, so that they are JSON as text.
 */
const FEATURES = "feature_names";
const CATEGORIES = "categories";
const EXAMPLE = "example";

/** Platforms by driver, as clients of other servers know them; any other driver has its own name. */
const PLATFORMS: Readonly<Record<string, string>> = {
  onnx: "onnxruntime_onnx",
  tensorflow: "tensorflow_savedmodel",
  pytorch: "pytorch_libtorch",
  openvino: "OpenVINO",
  // The only step of an ensemble.
  served: "ensemble",
};

/** Describes a model by its default signature. */
export function modelMetadata(service: InferenceService, description: ServableDescription): ModelMetadata {
  const {
    suggestedInputs = [],
    inputs = suggestedInputs.filter(hasType),
    outputs = [],
  } = defaultSignature(description);
  return {
    name: description.model,
    versions: versionsOf(service, description),
    platform: platformOf(description),
    inputs: inputs.map(toTensorMetadata),
    outputs: outputs.map(toTensorMetadata),
  };
}

/** The protocol cannot express an input of any type. */
export function hasType(spec: LooseSpec): spec is TensorSpec {
  return spec.dtype !== undefined;
}

/** The signature that a request without a signature name gets. */
export function defaultSignature({ signatures }: ServableDescription): Signature {
  return signatures[defaultSignatureName(signatures)] ?? {};
}

/** The runtime of a model; several stages are an ensemble. */
export function platformOf({ drivers }: ServableDescription): string {
  const [driver = "", ...others] = drivers;
  return others.length > 0 ? "ensemble" : (PLATFORMS[driver] ?? driver);
}

function versionsOf(service: InferenceService, { model, version }: ServableDescription): string[] {
  const versions = service
    .index()
    .flatMap((one) => (one.model === model && one.state === "AVAILABLE" ? [one.version] : []));
  const known = versions.length === 0 ? [version] : versions.toSorted((a, b) => (a < b ? -1 : 1));
  return known.map(String);
}

function toTensorMetadata({ name, dtype, shape = [-1], features, categories, example }: TensorSpec): TensorMetadata {
  const datatype = datatypeOf(dtype)?.name ?? dtype;
  const parameters = {
    ...(features && { [FEATURES]: JSON.stringify(features) }),
    ...(categories && { [CATEGORIES]: JSON.stringify(categories) }),
    ...(example !== undefined && { [EXAMPLE]: JSON.stringify(example) }),
  };
  return { name, datatype, shape: shape.map(toSize), ...(Object.keys(parameters).length > 0 && { parameters }) };
}
