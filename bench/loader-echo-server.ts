/**
 * A server as most people write it: grpc-js and proto-loader with their defaults, giving the inputs back as outputs;
 * sends its address to the parent.
 */
import { fileURLToPath } from "node:url";
import {
  type GrpcObject,
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServiceClientConstructor,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const PROTO = fileURLToPath(new URL("../proto", import.meta.url));

interface PredictCall {
  readonly request: { readonly inputs: object };
}

const loaded = loadPackageDefinition(loadSync("tensorflow/serving/prediction_service.proto", { includeDirs: [PROTO] }));
const serving = (loaded.tensorflow as GrpcObject).serving as GrpcObject;
const { service } = serving.PredictionService as ServiceClientConstructor;

const server = new Server();
server.addService(service, { Predict: echo });
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (_, port) =>
  process.send?.({ grpc: `127.0.0.1:${port}` }),
);
process.on("disconnect", () => process.exit());

function echo({ request }: PredictCall, done: (error: null, answer: object) => void): void {
  done(null, { outputs: request.inputs });
}
