import { fileURLToPath } from "node:url";
import type { ServiceDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const definitions = loadSync("tensorflow/serving/prediction_service.proto", {
  includeDirs: [fileURLToPath(new URL("../../proto", import.meta.url))],
  keepCase: true,
  longs: String,
  enums: String,
  defaults: true,
  oneofs: true,
});
const { Predict, PredictJSON } = definitions["tensorflow.serving.PredictionService"] as ServiceDefinition;

/** A message as protobufjs shows it: 64-bit integers as text, bytes as Buffer. */
export type Plain = Record<string, unknown>;

/** protobufjs' codecs of the same messages, to oracle ours by. */
export const oracle = {
  encodeRequest: (message: Plain): Buffer => Predict!.requestSerialize(message),
  decodeRequest: (bytes: Buffer): Plain => Predict!.requestDeserialize(bytes) as Plain,
  encodeResponse: (message: Plain): Buffer => Predict!.responseSerialize(message),
  decodeResponse: (bytes: Buffer): Plain => Predict!.responseDeserialize(bytes) as Plain,
  encodeJson: (message: Plain): Buffer => PredictJSON!.requestSerialize(message),
  decodeJson: (bytes: Buffer): Plain => PredictJSON!.responseDeserialize(bytes) as Plain,
};
