import { fileURLToPath } from "node:url";
import type { ServiceClientConstructor, ServiceDefinition } from "@grpc/grpc-js";
import { makeClientConstructor } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import type { Plain } from "../../grpc/oracle.ts";

const definitions = loadSync("inference/grpc_service.proto", {
  includeDirs: [fileURLToPath(new URL("../../../proto", import.meta.url))],
  keepCase: true,
  longs: String,
  enums: String,
  defaults: true,
  oneofs: true,
});
const service = definitions["inference.GRPCInferenceService"] as ServiceDefinition;

/** A client as the protocol's own JavaScript example makes it: from the .proto files, at run time. */
export const KserveClient: ServiceClientConstructor = makeClientConstructor(service, "GRPCInferenceService");

/** protobufjs' codecs of the inference messages, to oracle ours by. */
export const kserveOracle = {
  encodeRequest: (message: Plain): Buffer => service.ModelInfer!.requestSerialize(message),
  decodeResponse: (bytes: Buffer): Plain => service.ModelInfer!.responseDeserialize(bytes) as Plain,
  decodeStreamResponse: (bytes: Buffer): Plain => service.ModelStreamInfer!.responseDeserialize(bytes) as Plain,
};
