import type { Protocol } from "../protocol.ts";
import { createTensorflowGrpc } from "./grpc-service.ts";
import { createTensorflowHttp } from "./http-routes.ts";

/** TensorFlow Serving's protocol. */
export const tensorflowServing: Protocol = {
  name: "tensorflow-serving",
  grpc: createTensorflowGrpc,
  http: createTensorflowHttp,
};
