import { fileURLToPath } from "node:url";
import { credentials, makeClientConstructor, type ServiceDefinition, type ServiceError } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { onTestFinished } from "vitest";
import type { Server } from "../../../src/server/server.ts";
import type { Plain } from "../../grpc/oracle.ts";

const FILES = {
  ModelService: "model_service.proto",
  PredictionService: "prediction_service.proto",
  SessionService: "session_service.proto",
};

/** A grpc-js client of one of TensorFlow Serving's services, which closes when the test ends. */
export function connectService({ grpcAddress }: Server, name: keyof typeof FILES) {
  const definitions = loadSync(`tensorflow/serving/${FILES[name]}`, {
    includeDirs: [fileURLToPath(new URL("../../../proto", import.meta.url))],
    keepCase: true,
    longs: String,
    enums: String,
    defaults: true,
  });
  const Client = makeClientConstructor(definitions[`tensorflow.serving.${name}`] as ServiceDefinition, name);
  const client = new Client(grpcAddress, credentials.createInsecure());
  onTestFinished(() => client.close());
  return (method: string, request: Plain) =>
    new Promise<Plain>((resolve, reject) => {
      const done = (error: ServiceError | null, answer: Plain) => (error === null ? resolve(answer) : reject(error));
      (client[method] as (...given: unknown[]) => void).call(client, request, done);
    });
}
