import type { MethodDefinition, Server, ServiceDefinition } from "@grpc/grpc-js";
import { ServingError } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";
import type { InferenceService, ModelRef } from "../serving/inference-service.ts";
import { decodePredictJson, encodePredictJson } from "./kibernetika-codec.ts";
import { decodePredictRequest, encodePredictResponse, type PredictRequest } from "./tensorflow-codec.ts";
import { checkRequest } from "./tensorflow-signature.ts";
import { toUnaryHandler, type UnaryMethod } from "./unary-handler.ts";

/** The service that TensorFlow Serving's clients and the original kserving's clients call. */
export const PREDICTION_SERVICE = "tensorflow.serving.PredictionService";
/** The path of its method for tensors. */
export const PREDICT_PATH = `/${PREDICTION_SERVICE}/Predict`;
/** The path of its method for JSON. */
export const PREDICT_JSON_PATH = `/${PREDICTION_SERVICE}/PredictJSON`;

/** How the service reads and answers. */
export interface TensorflowServiceOptions {
  /** What one request's tensors may take in memory. */
  readonly maxMessageBytes: number;
  /** Whether answers carry numbers in `tensor_content` instead of typed fields. */
  readonly tensorContent: boolean;
  readonly log: Logger;
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
    Predict: toUnaryHandler(predictMethod(service, options), options.log),
    PredictJSON: toUnaryHandler(predictJsonMethod(service), options.log),
  });
}

function predictMethod(service: InferenceService, options: TensorflowServiceOptions): UnaryMethod {
  const encoding = options.tensorContent ? "content" : "typed";
  return async (message, call) => {
    const request = decodePredictRequest(message, options.maxMessageBytes);
    const { inputs, outputFilter, signature, versionEncoding } = request;
    const ref = refOf(request);
    checkRequest(request, await service.describe(ref));
    const answer = await service.infer({
      ...call,
      ...ref,
      signature,
      inputs: { kind: "tensors", tensors: inputs },
      ...(outputFilter.length > 0 && { outputs: outputFilter }),
    });
    if (answer.outputs.kind !== "tensors") throw wrongKind("tensors", answer.outputs.kind);
    const { model, version, outputs, metadata } = answer;
    const resolved = { model, version, signature: answer.signature, versionEncoding };
    return { message: encodePredictResponse({ ...resolved, outputs: outputs.tensors }, encoding), metadata };
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

function refOf({ model, version, label }: PredictRequest): ModelRef {
  return { model, ...(version !== undefined && { version }), ...(label !== undefined && { label }) };
}

function wrongKind(expected: string, came: string): ServingError {
  return new ServingError("internal", `The service answered a request of kind ${expected} with ${came}.`);
}

function byteMethod(path: string): MethodDefinition<Buffer, Buffer> {
  const asIs = (bytes: Buffer) => bytes;
  return {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
}
