import { ServingError } from "../../errors.ts";
import { decodeInThread, encodeInThread } from "../../grpc/codec-jobs.ts";
import type { CreateGrpcProtocol, GrpcProtocolOptions, UnaryMethod } from "../../grpc/grpc-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import {
  decodePredictRequestJob,
  decodePredictRequestQuickly,
  framePredictResponse,
  framePredictResponseJob,
  isLargeResponse,
  PREDICT_NESTING,
} from "./grpc-codec.ts";
import { checkSignature } from "./grpc-signature.ts";

/** The service that TensorFlow Serving's clients call. */
const PREDICTION_SERVICE = "tensorflow.serving.PredictionService";
/** The path of its method for tensors. */
export const PREDICT_PATH = `/${PREDICTION_SERVICE}/Predict`;

/** The gRPC part of TensorFlow Serving's protocol. */
export const createTensorflowGrpc: CreateGrpcProtocol = (service, options) => ({
  routes: { [PREDICT_PATH]: { kind: "inference", method: predictMethod(service, options), nesting: PREDICT_NESTING } },
});

function predictMethod(service: InferenceService, options: GrpcProtocolOptions): UnaryMethod {
  const encoding = options.tensorContent ? "content" : "typed";
  return async (message, call) => {
    const { maxMessageBytes: maxBytes } = options;
    const request =
      decodePredictRequestQuickly(message, maxBytes) ??
      (await decodeInThread(decodePredictRequestJob, message, { ...call, maxBytes }));
    const { spec, inputs, outputFilter } = request;
    call.record.model = spec.model;
    checkSignature(request, await service.describe(spec));
    const { model, version, signature, outputs, metadata } = await service.infer({
      id: call.id,
      model: spec.model,
      version: spec.version,
      label: spec.label,
      signature: spec.signature,
      inputs: { kind: "tensors", tensors: inputs },
      outputs: outputFilter.length > 0 ? outputFilter : undefined,
      metadata: call.metadata,
      signal: call.signal,
      deadline: call.deadline,
      memory: call.memory,
      record: call.record,
    });
    if (outputs.kind !== "tensors") {
      throw new ServingError("internal", `The service answered a request for tensors with ${outputs.kind}.`);
    }
    const resolved = { model, version, signature, versionEncoding: spec.versionEncoding };
    const response = { spec: resolved, outputs: outputs.tensors };
    if (isLargeResponse(response, encoding)) {
      return { message: await encodeInThread(framePredictResponseJob, [response, encoding, true], call), metadata };
    }
    return { message: framePredictResponse(response, encoding, call.memory.isWireOnly), metadata };
  };
}
