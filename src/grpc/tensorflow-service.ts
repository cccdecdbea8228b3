import type { Server, ServiceDefinition } from "@grpc/grpc-js";
import { ServingError } from "../errors.ts";
import type { InferenceService, ModelRef } from "../serving/inference-service.ts";
import { byteMethod } from "./byte-method.ts";
import { decodePredictJson, encodePredictJson } from "./kibernetika-codec.ts";
import type { ModelSpec } from "./model-spec.ts";
import { decodePredictRequest, encodePredictResponse } from "./tensorflow-codec.ts";
import { checkRequest } from "./tensorflow-signature.ts";
import { type HandlerContext, toUnaryHandler, type UnaryMethod } from "./unary-handler.ts";

/** The service that TensorFlow Serving's clients and the original kserving's clients call. */
export const PREDICTION_SERVICE = "tensorflow.serving.PredictionService";
/** The path of its method for tensors. */
export const PREDICT_PATH = `/${PREDICTION_SERVICE}/Predict`;
/** The path of its method for JSON. */
export const PREDICT_JSON_PATH = `/${PREDICTION_SERVICE}/PredictJSON`;

/** How the service reads and answers. */
export interface TensorflowServiceOptions extends HandlerContext {
  /** What one request's tensors may take in memory. */
  readonly maxMessageBytes: number;
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
    Predict: toUnaryHandler(predictMethod(service, options), options),
    PredictJSON: toUnaryHandler(predictJsonMethod(service), options),
  });
}

function predictMethod(service: InferenceService, options: TensorflowServiceOptions): UnaryMethod {
  const encoding = options.tensorContent ? "content" : "typed";
  return async (message, call) => {
    const request = decodePredictRequest(message, options.maxMessageBytes);
    const { spec, inputs, outputFilter } = request;
    const ref = refOf(spec);
    checkRequest(request, await service.describe(ref));
    const { model, version, signature, outputs, metadata } = await service.infer({
      ...call,
      ...ref,
      signature: spec.signature,
      inputs: { kind: "tensors", tensors: inputs },
      ...(outputFilter.length > 0 && { outputs: outputFilter }),
    });
    if (outputs.kind !== "tensors") throw wrongKind("tensors", outputs.kind);
    const resolved = { model, version, signature, versionEncoding: spec.versionEncoding };
    return { message: encodePredictResponse({ spec: resolved, outputs: outputs.tensors }, encoding), metadata };
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
    return { message: encodePredictJson(answer.outputs.json), metadata: answer.metadata };
  };
}

function refOf({ model, version, label }: ModelSpec): ModelRef {
  return { model, ...(version !== undefined && { version }), ...(label !== undefined && { label }) };
}

function wrongKind(expected: string, came: string): ServingError {
  return new ServingError("internal", `The service answered a request of kind ${expected} with ${came}.`);
}
