import type { JsonObject } from "@bufbuild/protobuf";
import type { InferenceService, ModelRef } from "../../serving/inference-service.ts";
import { modelItself } from "../../serving/servable-description.ts";
import { encodeMessage } from "../../tensor/codecs/protobuf/wire-writer.ts";
import {
  knownInputs,
  type LooseSpec,
  type Signature,
  type TensorSpec,
  toSize,
  type UnservedSignature,
  type UnservedTensor,
} from "../../tensor/signature/signature.ts";
import { methodNameOf } from "./method-names.ts";
import { typeOfDType } from "./tensor-proto.ts";
import { tensorProtoParts } from "./tensor-proto-writer.ts";

/** The only field of a model's metadata that there is, and its message. */
export const SIGNATURE_DEF = "signature_def";
const RESPONSE = "tensorflow.serving.GetModelMetadataResponse";
const SIGNATURE_MAP = "tensorflow.serving.SignatureDefMap";
/** The number of DT_INVALID. */
const INVALID_TYPE = 0;

/**
 * The metadata of a model in protobuf's JSON form: a
 * tensorflow.serving.GetModelMetadataResponse whose SignatureDefMap stands where gRPC has it in
 * an Any, as the original's REST API gives it. Throws as {@link InferenceService.acquire} does.
 */
export async function modelMetadata(service: InferenceService, ref: ModelRef): Promise<JsonObject> {
  const { model, version, signatures, unserved } = await describe(service, ref);
  const { decodeMessage, encodeAs } = await import("../../tensor/codecs/protobuf/proto-messages.ts");
  const served = mapValues(signatures, (signature) => toSignatureDef(signature, decodeMessage));
  const map = { signature_def: { ...mapValues(unserved, toUnservedDef), ...served } };
  return {
    model_spec: { name: model, signature_name: "", version: String(version) },
    // Through its bytes, so that all fields are there.
    metadata: { [SIGNATURE_DEF]: decodeMessage(SIGNATURE_MAP, encodeAs(SIGNATURE_MAP, map)) },
  };
}

/** The bytes of the same for gRPC. */
export async function encodeModelMetadata(metadata: JsonObject): Promise<Buffer> {
  const { encodeAs } = await import("../../tensor/codecs/protobuf/proto-messages.ts");
  const fields = metadata.metadata as Record<string, JsonObject>;
  const anys = mapValues(fields, (map) => ({ "@type": `type.googleapis.com/${SIGNATURE_MAP}`, ...map }));
  return encodeAs(RESPONSE, { ...metadata, metadata: anys });
}

/**
 * The same as OpenVINO Model Server's REST API gives it: the whole message, with protobuf's own names of fields. It has
 * no defaults of inputs, a field that clients with TensorFlow 1 do not know, and refuse even if it is empty.
 */
export async function toOpenvinoMetadata(metadata: JsonObject): Promise<JsonObject> {
  const { decodeMessage } = await import("../../tensor/codecs/protobuf/proto-messages.ts");
  const message = decodeMessage(RESPONSE, await encodeModelMetadata(metadata), "json");
  const map = (message.metadata as Record<string, { signatureDef: Record<string, JsonObject> }>)[SIGNATURE_DEF];
  for (const definition of Object.values(map?.signatureDef ?? {})) delete definition.defaults;
  return message;
}

/** A version with the signatures of its file that cannot be run, if clients see the model itself. */
async function describe(service: InferenceService, ref: ModelRef) {
  const lease = await service.acquire(ref);
  lease.release();
  const { description } = lease;
  return { ...description, unserved: modelItself(description)?.unserved ?? {} };
}

type Decode = (type: string, bytes: Uint8Array) => JsonObject;

function toSignatureDef(signature: Signature, decode: Decode): JsonObject {
  const { inputs = [], outputs = [] } = signature;
  const defaults = inputs.flatMap(({ name, default: value }) => (value ? [[name, value] as const] : []));
  const toProto = (tensor: NonNullable<TensorSpec["default"]>) =>
    decode("tensorflow.TensorProto", encodeMessage(tensorProtoParts(tensor, "typed")));
  return {
    inputs: toTensorInfos(knownInputs(signature) ?? []),
    outputs: toTensorInfos(outputs),
    method_name: methodNameOf(signature),
    defaults: mapValues(Object.fromEntries(defaults), toProto),
  };
}

function toUnservedDef({ inputs, outputs, methodName }: UnservedSignature): JsonObject {
  return { inputs: toTensorInfos(inputs), outputs: toTensorInfos(outputs), method_name: methodName };
}

type Info = LooseSpec & Pick<TensorSpec, "nativeName" | "declaredDType"> & Partial<Pick<UnservedTensor, "dataType">>;

function toTensorInfos(specs: readonly Info[]): JsonObject {
  return Object.fromEntries(specs.map((spec) => [spec.name, toTensorInfo(spec)]));
}

function toTensorInfo({
  name,
  dtype: taken,
  declaredDType: dtype = taken,
  dataType = dtype === undefined ? INVALID_TYPE : typeOfDType(dtype).number,
  shape,
  nativeName = name,
}: Info): JsonObject {
  const dim = shape?.map((dimension) => ({ size: String(toSize(dimension)) }));
  return {
    name: nativeName,
    dtype: dataType,
    tensor_shape: dim === undefined ? { unknown_rank: true } : { dim },
  };
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, to: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, to(value)]));
}
