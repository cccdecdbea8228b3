import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { invalidArgument } from "../../errors.ts";
import { frameBytes } from "../../grpc/framed-message.ts";
import type { CallInfo, CreateGrpcProtocol, GrpcProtocolOptions, UnaryMethod } from "../../grpc/grpc-route.ts";
import { decodeInThread, encodeInThread } from "../../platform/codec-host/codec-jobs.ts";
import { SMALL_REQUEST_BYTES } from "../../platform/limits/transport-limits.ts";
import type { InferenceService, InferResponse, Lease } from "../../serving/inference-service.ts";
import { answeredTensors } from "../answered-tensors.ts";
import { exampleMethod, multiInferenceMethod } from "./examples/grpc-examples.ts";
import {
  decodePredictRequestJob,
  decodePredictRequestQuickly,
  framePredictResponse,
  framePredictResponseJob,
  isLargeResponse,
  PREDICT_NESTING,
  type PredictRequest,
} from "./grpc-codec.ts";
import { modelServiceRoutes } from "./grpc-model-service.ts";
import { sessionServiceRoutes } from "./grpc-session-service.ts";
import { checkSignature, wantedOutputs } from "./grpc-signature.ts";
import { encodeModelMetadata, modelMetadata, SIGNATURE_DEF } from "./model-metadata.ts";
import { assertNamesModel } from "./model-spec.ts";

/** The service that TensorFlow Serving's clients call. */
const PREDICTION_SERVICE = "tensorflow.serving.PredictionService";
/** The path of its method for tensors. */
export const PREDICT_PATH = `/${PREDICTION_SERVICE}/Predict`;

/** The gRPC part of TensorFlow Serving's protocol. */
export const createTensorflowGrpc: CreateGrpcProtocol = (service, options) => ({
  routes: {
    [PREDICT_PATH]: { kind: "inference", method: predictMethod(service, options), nesting: PREDICT_NESTING },
    [`/${PREDICTION_SERVICE}/Classify`]: { kind: "inference", method: exampleMethod(service, "classify", options) },
    [`/${PREDICTION_SERVICE}/Regress`]: { kind: "inference", method: exampleMethod(service, "regress", options) },
    [`/${PREDICTION_SERVICE}/MultiInference`]: { kind: "inference", method: multiInferenceMethod(service, options) },
    [`/${PREDICTION_SERVICE}/GetModelMetadata`]: {
      kind: "read",
      method: metadataMethod(service, options),
      maxBytes: SMALL_REQUEST_BYTES,
    },
    ...modelServiceRoutes(service, options),
    ...sessionServiceRoutes(service, options),
  },
});

function predictMethod(service: InferenceService, options: GrpcProtocolOptions): UnaryMethod {
  const encoding = options.settings.tensorContent ? "content" : "typed";
  return async (message, call) => {
    const { maxMessageBytes: maxBytes } = options;
    const request =
      decodePredictRequestQuickly(message, maxBytes) ??
      (await decodeInThread(decodePredictRequestJob, [message, maxBytes], { ...call, message, maxBytes }));
    const { spec } = request;
    if (options.settings.requireModelSpec) assertNamesModel(spec);
    call.record.model = spec.model;
    const answer = await infer(await service.acquire(spec, call), request, { call, settings: options.settings });
    const { model, version, signature, metadata } = answer;
    const resolved = { model, version, signature, versionEncoding: spec.versionEncoding };
    const response = { spec: resolved, outputs: answeredTensors(answer) };
    if (isLargeResponse(response, encoding)) {
      return { message: await encodeInThread(framePredictResponseJob, [response, encoding, true], call), metadata };
    }
    return { message: framePredictResponse(response, encoding, call.memory.isWireOnly), metadata };
  };
}

interface Calling extends Pick<GrpcProtocolOptions, "settings"> {
  readonly call: CallInfo;
}

async function infer(lease: Lease, request: PredictRequest, { call, settings }: Calling): Promise<InferResponse> {
  try {
    const { inputs, outputFilter } = request;
    const signature = checkSignature(request, lease.description, settings);
    const outputs = wantedOutputs(outputFilter, signature.spec, settings);
    return await lease.infer({ signature, inputs: { kind: "tensors", tensors: inputs }, outputs, call });
  } finally {
    lease.release();
  }
}

/** PredictionService.GetModelMetadata, with the original's texts. */
function metadataMethod(service: InferenceService, { settings }: GrpcProtocolOptions): UnaryMethod {
  return async (message, { record }) => {
    const { decodeMessage } = await import("../../tensor/codecs/protobuf/proto-messages.ts");
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
