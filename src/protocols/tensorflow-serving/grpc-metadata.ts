import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { invalidArgument } from "../../errors.ts";
import { frameBytes } from "../../grpc/framed-message.ts";
import type { GrpcProtocolOptions, UnaryMethod } from "../../grpc/grpc-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { encodeModelMetadata, modelMetadata, SIGNATURE_DEF } from "./model-metadata.ts";

/** PredictionService.GetModelMetadata, with the original's texts. */
export function metadataMethod(service: InferenceService, { settings }: GrpcProtocolOptions): UnaryMethod {
  return async (message, { record }) => {
    const { decodeMessage } = await import("../../codecs/protobuf/proto-messages.ts");
    const request = decodeMessage("tensorflow.serving.GetModelMetadataRequest", message);
    const { model_spec: spec, metadata_field: fields } = request as { [field: string]: JsonValue };
    if (spec === undefined) throw invalidArgument("Missing ModelSpec");
    checkFields(fields as string[]);
    const { name, version, version_label: label } = spec as JsonObject;
    const model = String(name);
    if (settings.requireModelSpec && model === "") throw invalidArgument("ModelSpec has no name specified.");
    record.model = model;
    const ref = {
      model,
      ...(version != null && { version: BigInt(String(version)) }),
      ...(label !== undefined && { label: String(label) }),
    };
    return { message: frameBytes(await encodeModelMetadata(await modelMetadata(service, ref))) };
  };
}

function checkFields(fields: readonly string[]): void {
  if (fields.length === 0) throw invalidArgument("GetModelMetadataRequest must specify at least one metadata_field");
  const unknown = fields.find((field) => field !== SIGNATURE_DEF);
  if (unknown !== undefined) throw invalidArgument(`Metadata field ${unknown} is not supported`);
}
