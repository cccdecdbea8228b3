import { decodeMessage, encodeAs } from "../../codecs/protobuf/proto-messages.ts";
import { createMessageClient } from "../message-client.ts";
import { decodeInferResponse, encodeInferRequest } from "./infer-message.ts";
import type { DescribedTensor, KserveCaller } from "./kserve-caller.ts";
import type { ModelAddress } from "./model-address.ts";

/** URL of the method that runs models. */
export const INFER_PATH = "/inference.GRPCInferenceService/ModelInfer";
const METADATA_PATH = "/inference.GRPCInferenceService/ModelMetadata";
/** Models may take minutes for their first request. */
const TIMEOUT_MS = 600_000;

/** Calls a model over gRPC. */
export function openGrpcCaller(address: ModelAddress, authorization?: string): KserveCaller {
  const { server, model: name, version = "" } = address;
  const client = createMessageClient(
    server.startsWith("grpcs") ? server : server.slice("grpc://".length),
    authorization,
  );
  return {
    inputs: async () => {
      await client.connect();
      const request = encodeAs("inference.ModelMetadataRequest", { name, version });
      const answer = await client.call(METADATA_PATH, request, TIMEOUT_MS);
      return decodeMessage("inference.ModelMetadataResponse", answer).inputs as unknown as readonly DescribedTensor[];
    },
    predict: async (inputs) =>
      decodeInferResponse(
        await client.call(INFER_PATH, encodeInferRequest({ model: name, version, inputs }), TIMEOUT_MS),
      ).outputs,
    close: () => client.close(),
  };
}
