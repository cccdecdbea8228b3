import { invalidArgument } from "../../errors.ts";
import { frameParts } from "../../grpc/framed-message.ts";
import type { CreateGrpcProtocol, UnaryMethod } from "../../grpc/grpc-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { answeredJson } from "../answered-tensors.ts";
import { decodePredictJson, predictJsonParts } from "./grpc-codec.ts";
import { inferJson } from "./infer-json.ts";

/** The original server's method for JSON, which it added to TensorFlow Serving's service. */
export const PREDICT_JSON_PATH = "/tensorflow.serving.PredictionService/PredictJSON";

/** The gRPC part of the original server's protocol. */
export const createKibernetikaGrpc: CreateGrpcProtocol = (service) => ({
  routes: { [PREDICT_JSON_PATH]: { kind: "inference", method: predictJsonMethod(service) } },
});

function predictJsonMethod(service: InferenceService): UnaryMethod {
  return async (message, call) => {
    const json = decodePredictJson(message);
    if (json.length === 0) {
      throw invalidArgument("json_string is empty; expected the text of a JSON object.");
    }
    const answer = await inferJson(service, json, call);
    return { message: frameParts(predictJsonParts(answeredJson(answer)), true), metadata: answer.metadata };
  };
}
