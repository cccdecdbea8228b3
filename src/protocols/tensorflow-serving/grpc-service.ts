import type { Server, ServiceDefinition } from "@grpc/grpc-js";
import { ServingError } from "../../errors.ts";
import { byteMethod } from "../../grpc/byte-method.ts";
import { frameParts } from "../../grpc/framed-message.ts";
import { type HandlerContext, toUnaryHandler, type UnaryMethod } from "../../grpc/unary-handler.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { decodePredictJson, predictJsonParts } from "../kibernetika/grpc-codec.ts";
import { decodePredictRequest, PREDICT_NESTING, predictResponseParts } from "./grpc-codec.ts";
import { checkSignature } from "./grpc-signature.ts";

/** The service that TensorFlow Serving's clients and the original kserving's clients call. */
export const PREDICTION_SERVICE = "tensorflow.serving.PredictionService";
/** The path of its method for tensors. */
export const PREDICT_PATH = `/${PREDICTION_SERVICE}/Predict`;
/** The path of its method for JSON. */
export const PREDICT_JSON_PATH = `/${PREDICTION_SERVICE}/PredictJSON`;

/** How the service reads and answers. */
export interface TensorflowServiceOptions extends HandlerContext {
  /** Whether answers carry numbers in `tensor_content` instead of typed fields. */
  readonly tensorContent: boolean;
}

/** Adds tensorflow.serving.PredictionService, with the methods Predict and PredictJSON, to a server. */
export function addTensorflowService(
  server: Server,
  service: InferenceService,
  options: TensorflowServiceOptions,
): void {
  const definition: ServiceDefinition = {
    Predict: byteMethod(PREDICT_PATH),
    PredictJSON: byteMethod(PREDICT_JSON_PATH),
  };
  server.addService(definition, {
    Predict: toUnaryHandler(
      PREDICT_PATH,
      { kind: "inference", method: predictMethod(service, options), nesting: PREDICT_NESTING },
      options,
    ),
    PredictJSON: toUnaryHandler(PREDICT_JSON_PATH, { kind: "inference", method: predictJsonMethod(service) }, options),
  });
}

function predictMethod(service: InferenceService, options: TensorflowServiceOptions): UnaryMethod {
  const encoding = options.tensorContent ? "content" : "typed";
  return async (message, call) => {
    const request = decodePredictRequest(message, options.maxMessageBytes);
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
    if (outputs.kind !== "tensors") throw wrongKind("tensors", outputs.kind);
    const resolved = { model, version, signature, versionEncoding: spec.versionEncoding };
    const parts = predictResponseParts({ spec: resolved, outputs: outputs.tensors }, encoding);
    return { message: frameParts(parts, call.memory?.isWireOnly === true), metadata };
  };
}

function predictJsonMethod(service: InferenceService): UnaryMethod {
  return async (message, call) => {
    const json = decodePredictJson(message);
    if (json.length === 0) {
      throw new ServingError("invalid_argument", "json_string is empty; expected the text of a JSON object.");
    }
    const answer = await service.infer({ ...call, model: "", signature: "", inputs: { kind: "json", json } });
    if (answer.outputs.kind !== "json") throw wrongKind("json", answer.outputs.kind);
    return { message: frameParts(predictJsonParts(answer.outputs.json), true), metadata: answer.metadata };
  };
}

function wrongKind(expected: string, came: string): ServingError {
  return new ServingError("internal", `The service answered a request of kind ${expected} with ${came}.`);
}
